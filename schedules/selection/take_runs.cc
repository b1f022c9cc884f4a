// take_runs: take, where neighbours stay neighbours: whole vectors of lanes move instead of single ones.
// Pieces of 16 lanes are zeros, or lie in the order of x, or backwards. Later pieces write over earlier ones.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int piece = static_cast<int>(lanes);

class TakeRuns {
public:
    TakeRuns(KernelBuilder &k, const contract::TakeRuns &p)
        : k_(k), in_row_(p.in_row), row_(p.row), x_(k.input(a_.x, dense({in_row_, p.rows}))) {
        k.no_epilogue();
        y_(i_, r_) = undef<float>();
        pieces("zeros", p.zeros, a_.zeros_to, nullptr, 0);
        pieces("forward", p.forward, a_.forward_to, &a_.forward_from, 1);
        pieces("backward", p.backward, a_.backward_to, &a_.backward_from, -1);
        k.output(y_, a_.y, dense({row_, p.rows}));
    }

private:
    // `step` of x from lane to lane; 0: zeros. The places are moved inside of the rows.
    void pieces(const std::string &name, int count, const contract::Names::Weight &to_name,
                const contract::Names::Weight *from_name, int step) {
        if (count == 0) return;
        const ImageParam to = k_.weight(to_name, dense({count}), Int(32));
        RDom of(0, piece, 0, count, name);
        const Expr lane = clamp(to(of.y), 0, row_ - piece) + of.x;
        if (!from_name) {
            y_(lane, r_) = 0.0f;
        } else {
            const ImageParam from = k_.weight(*from_name, dense({count}), Int(32));
            const int before = step < 0 ? piece - 1 : 0;
            y_(lane, r_) = x_(clamp(from(of.y), before, in_row_ - piece + before) + step * of.x, r_);
        }
        y_.update(y_.num_update_definitions() - 1)
            .allow_race_conditions() // the lanes of a piece
            .reorder(of.x, of.y, r_)
            .vectorize(of.x, std::min(piece, k_.target.vector_lanes));
    }

    const contract::TakeRuns::Arguments<contract::Names> a_ = contract::names_of<contract::TakeRuns>();
    KernelBuilder &k_;
    int in_row_, row_;
    ImageParam x_;
    Var i_{"i"}, r_{"r"};
    Func y_{"y"};
};

void take_runs_on_cpu(KernelBuilder &k, const contract::TakeRuns &params) { const TakeRuns runs(k, params); }

const Kernel<contract::TakeRuns> take_runs{take_runs_on_cpu};

} // namespace

} // namespace longwave::schedules
