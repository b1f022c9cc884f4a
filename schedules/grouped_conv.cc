// grouped_conv: short centred convolutions over the rows of a whole sequence or spectrum, zeros
// outside, each output from one or two features of its group.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_grouped_conv(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20), inputs = k.params.integer("inputs", 1, 2),
              outputs = k.params.integer("outputs", 1, 2), taps = k.params.integer("taps", 1, 4095);
    const int rows = k.params.integer("rows", 1, 1 << 23), used = k.params.integer("used", 1, 1 << 23);
    const std::string groups = k.params.choice("groups", {"channel", "pairs", "halves"});
    k.params.require(taps % 2 == 1, "'taps' must be odd");
    k.params.require(used <= rows, "'used' must not exceed rows");
    k.params.require(groups == "channel" || inputs == 2, "'pairs' and 'halves' need two inputs");
    k.no_epilogue();
    const int width = static_cast<int>(pad(channels)), vec = dividing_vector(width, k.target.vector_lanes);
    ImageParam x = k.input("x", dense({width, inputs, rows}));
    ImageParam w = k.weight("w", dense({width, outputs, inputs, taps})),
               bias = k.weight("bias", dense({width, outputs}));

    // THE ALGORITHM
    // Feature n of a row is channel n % channels of part n / channels.
    Var c("c"), part("part"), r("r");
    Func sum("sum"), y("y");
    const auto input = [&](const Expr &i, const Expr &row) -> Expr {
        if (groups == "channel") return x(c, i, row);
        const Expr group = groups == "pairs" ? Expr(c) : (part * channels + c) / 2;
        const Expr feature =
            clamp(2 * group + i, 0, 2 * channels - 1); // lanes beyond the channels weigh nothing
        return x(feature % channels, feature / channels, row);
    };
    RDom of(0, inputs, 0, taps, "of");
    const Expr row = r + of.y - taps / 2;
    sum(c, part, r) = bias(c, part);
    sum(c, part, r) +=
        select(row >= 0 && row < used, w(c, part, of.x, of.y) * input(of.x, clamp(row, 0, used - 1)), 0.0f);
    y(c, part, r) = 0.0f;
    RDom valid(0, used, "valid");
    y(c, part, valid) = sum(c, part, valid);

    // THE SCHEDULE
    // Two vectors of sums in registers for each part.
    const int block = vec * divisor_at_most(width / vec, 2);
    Var co("co"), ci("ci"), zo("zo"), zi("zi");
    y.bound(part, 0, outputs).vectorize(c, vec);
    y.update()
        .split(c, co, ci, block)
        .reorder(ci, part, co, valid)
        .vectorize(ci, vec)
        .unroll(ci)
        .unroll(part);
    sum.compute_at(y, co)
        .bound_extent(c, block)
        .bound_extent(part, outputs)
        .vectorize(c, vec)
        .unroll(c)
        .unroll(part);
    sum.update().reorder(c, part, of.x, of.y).vectorize(c, vec).unroll(c).unroll(part).unroll(of.x);
    k.output(y, dense({width, outputs, rows}));
}

static const Kernel grouped_conv{"grouped_conv", build_grouped_conv};

} // namespace longwave::schedules
