// pointwise: an epilogue chain alone, on values that no other kernel could finish.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_pointwise(KernelBuilder &k) {
    const int width = k.params.integer("width", 1, 1 << 24), rows = k.params.integer("rows", 1, 1 << 20);
    const int channels = k.params.integer_or("channels", width, 1, 1 << 24),
              group = channels == width ? width : static_cast<int>(pad(channels));
    k.params.require(width % group == 0, "'width' must be a multiple of the padded 'channels'");
    const bool grouped = group != width;
    const Shape shape = grouped ? dense({group, width / group, rows}) : dense({width, rows});
    ImageParam x = k.input("x", shape);

    // THE ALGORITHM
    Var i("i"), g("g"), r("r");
    const std::vector<Var> vars = grouped ? std::vector<Var>{i, g, r} : std::vector<Var>{i, r};
    const std::vector<Expr> at(vars.begin(), vars.end());
    Func y("y");
    y(vars) = k.epilogue(x(at), at, shape, channels);

    // THE SCHEDULE
    const int vec = k.target.vector_lanes;
    if (group >= vec) {
        y.vectorize(i, vec, group % vec ? TailStrategy::ShiftInwards : TailStrategy::Auto);
    } else if (group == 1 && !grouped && rows >= vec) {
        y.reorder(r, i).vectorize(r, vec, TailStrategy::ShiftInwards); // one value a row: rows are contiguous
    }
    k.output(y, shape);
}

static const Kernel pointwise{"pointwise", build_pointwise};

} // namespace longwave::schedules
