// centred_conv: a short filter of each channel that reaches as far ahead as back, over a whole sequence with
// zeros around it.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_centred_conv(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              taps = k.params.integer("taps", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 24);
    const bool has_bias = k.params.flag_or("bias", false);
    k.params.require(taps % 2 == 1, "'taps' must be odd");
    const int width = static_cast<int>(pad(channels)), half = taps / 2;
    const Shape shape = dense({width, rows});
    ImageParam x = k.input("x", shape), w = k.weight("weight", dense({width, taps})), b;
    if (has_bias) b = k.weight("bias", dense({width}));

    // THE ALGORITHM
    Var c("c"), r("r"), t("t");
    RDom i(0, taps, "i");
    Func around("around"), sum("sum"), y("y");
    around(c, t) = select(t >= 0 && t < rows, x(c, clamp(t, 0, rows - 1)), 0.0f);
    sum(c, r) = has_bias ? Expr(b(c)) : Expr(0.0f);
    sum(c, r) += w(c, i) * around(c, r + i - half);
    y(c, r) = k.epilogue(sum(c, r), {c, r}, shape, channels);

    // THE SCHEDULE
    // A block of rows with its surroundings lies in a buffer of its own, so that the sums, of as many rows as
    // the registers hold, read it without looking at the edges.
    const int vec = dividing_vector(width, k.target.vector_lanes), down = std::min(rows, 8),
              block = std::min(rows / down, std::max(8, (taps + 7) / 8)) * down;
    Var co("co"), ci("ci"), ro("ro"), ri("ri"), rt("rt"), rr("rr");
    y.split(c, co, ci, vec)
        .split(r, ro, ri, block, TailStrategy::ShiftInwards)
        .split(ri, rt, rr, down, TailStrategy::ShiftInwards)
        .reorder(ci, rr, rt, ro, co)
        .vectorize(ci)
        .unroll(rr);
    around.compute_at(y, ro).bound_extent(c, vec).bound_extent(t, block + taps - 1).vectorize(c, vec);
    store(around, int64_t{4} * vec * (block + taps - 1));
    sum.compute_at(y, rt).bound_extent(c, vec).bound_extent(r, down).vectorize(c, vec).unroll(r);
    sum.update().reorder(c, r, i).vectorize(c, vec).unroll(r);
    if (taps <= 16) sum.update().unroll(i);
    k.output(y, shape);
}

static const Kernel centred_conv{"centred_conv", build_centred_conv};

} // namespace longwave::schedules
