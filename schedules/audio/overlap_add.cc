// overlap_add: a frame is added to the sums of the hops that it reaches, row after row, any number of rows a
// call. Sum k belongs to the k-th hop after the row's own, so each row moves the sums by one.
#include "schedules/contract/kernels/audio.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct OverlapAdd {
    const contract::OverlapAdd::Arguments<contract::Names> a = contract::names_of<contract::OverlapAdd>();
    const int window, hop, rows, pieces, in_row, row;
    Var i{"i"}, k{"k"}, r{"r"};
    RDom t;
    Func y{"y"};

    OverlapAdd(KernelBuilder &builder, const contract::OverlapAdd &p)
        : window(p.window), hop(p.hop), rows(p.rows), pieces((window + hop - 1) / hop - 1),
          in_row(static_cast<int>(pad(extent(window)))), row(static_cast<int>(pad(extent(hop)))),
          t(0, pieces, 0, rows, "t") {
        builder.params.require(hop < window, "'hop' must be less than 'window'");
        builder.no_epilogue();
        const ImageParam x = builder.input(a.x, dense({in_row, rows}));
        // Of the frame, and zeros behind its end and in the padding of a row.
        const auto piece = [&](const Expr &number) {
            const Expr at = number * hop + i;
            const bool whole = window % hop == 0 && hop == row;
            return whole ? x(at, t.y) : select(i < hop && at < window, x(min(at, in_row - 1), t.y), 0.0f);
        };
        y(i, k, r) = Tuple(undef<float>(), undef<float>());
        const Expr heard = y(i, t.x, t.y)[0], sum = y(i, t.x, t.y)[1];
        const Expr later = select(t.x + 1 < pieces, y(i, min(t.x + 1, pieces - 1), t.y)[1], 0.0f);
        y(i, t.x, t.y) = Tuple(select(t.x == 0, sum + piece(0), heard), later + piece(t.x + 1));
    }
    // All sums write the one row of the result, and all rows the same sums.
    void declare(KernelBuilder &builder) {
        builder.outputs(
            y, {builder.result(a.y, {{extent(row), 1}, {extent(pieces), 0}, {extent(rows), row}}),
                builder.updated(a.sums, {{extent(row), 1}, {extent(pieces), row}, {extent(rows), 0}})});
    }
};

void overlap_add_on_cpu(KernelBuilder &k, const contract::OverlapAdd &params) {
    OverlapAdd o(k, params);
    o.y.update().reorder(o.i, o.t.x, o.t.y).vectorize(o.i, dividing_vector(o.row, k.target.vector_lanes));
    o.declare(k);
}

// A thread for each sample of a hop.
void overlap_add_on_gpu(KernelBuilder &k, const contract::OverlapAdd &params) {
    OverlapAdd o(k, params);
    spread(o.y.update(), {o.i}, {o.row});
    o.declare(k);
}

const Kernel<contract::OverlapAdd> overlap_add{overlap_add_on_cpu, overlap_add_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
