// pointwise: an epilogue chain alone, on values that no other kernel could finish.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Pointwise {
    int group, rows;
    bool grouped; // several padded groups of channels in a row
    Shape shape;
    Var i{"i"}, g{"g"}, r{"r"};
    Func y{"y"};

    std::vector<Var> vars() const { return grouped ? std::vector<Var>{i, g, r} : std::vector<Var>{i, r}; }
};

// THE ALGORITHM
Pointwise define_pointwise(KernelBuilder &k) {
    const int width = k.params.integer("width", 1, 1 << 24), rows = k.params.integer("rows", 1, 1 << 20);
    const int channels = k.params.integer_or("channels", width, 1, 1 << 24),
              group = channels == width ? width : static_cast<int>(pad(channels));
    k.params.require(width % group == 0, "'width' must be a multiple of the padded 'channels'");
    Pointwise p{.group = group, .rows = rows, .grouped = group != width, .shape = {}};
    p.shape = p.grouped ? dense({group, width / group, rows}) : dense({width, rows});
    ImageParam x = k.input("x", p.shape);
    const std::vector<Var> vars = p.vars();
    const std::vector<Expr> at(vars.begin(), vars.end());
    p.y(vars) = k.epilogue(x(at), at, p.shape, channels);
    return p;
}

void pointwise_on_cpu(KernelBuilder &k) {
    Pointwise p = define_pointwise(k);
    const int vec = k.target.vector_lanes;
    if (p.group >= vec) {
        p.y.vectorize(p.i, vec, p.group % vec ? TailStrategy::ShiftInwards : TailStrategy::Auto);
    } else if (p.group == 1 && !p.grouped && p.rows >= vec) {
        // one value a row: rows are contiguous
        p.y.reorder(p.r, p.i).vectorize(p.r, vec, TailStrategy::ShiftInwards);
    }
    k.output(p.y, p.shape);
}

void pointwise_on_gpu(KernelBuilder &k) {
    Pointwise p = define_pointwise(k);
    std::vector<VarOrRVar> dims;
    std::vector<int> extents;
    for (const Var &var : p.vars()) dims.emplace_back(var);
    for (const Dim &dim : p.shape) extents.push_back(static_cast<int>(dim.extent));
    spread(p.y, dims, extents, {.rows_first = k.asks_channel_major()});
    k.output(p.y, p.shape);
    k.allow_channel_major_with_operands({"x", p.y.name()});
}

const Kernel pointwise{"pointwise", pointwise_on_cpu, pointwise_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
