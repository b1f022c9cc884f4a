// grouped_conv: short centred convolutions over the rows of a whole sequence or spectrum, zeros
// outside, each output from one or two features of its group.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct GroupedConv {
    contract::GroupedConv::Arguments<contract::Names> a;
    int width, outputs, rows, used;
    Shape shape;
    Var c{"c"}, part{"part"}, r{"r"};
    RDom of;
    Func sum{"sum"};
};

// THE ALGORITHM
GroupedConv define_grouped_conv(KernelBuilder &k, const contract::GroupedConv &p) {
    const auto a = contract::names_of<contract::GroupedConv>();
    const int channels = p.channels, inputs = p.inputs, outputs = p.outputs, taps = p.taps, rows = p.rows,
              used = p.used;
    k.params.require(taps % 2 == 1, "'taps' must be odd");
    k.params.require(used <= rows, "'used' must not exceed rows");
    k.params.require(p.groups.is<"channel">() || inputs == 2, "'pairs' and 'halves' need two inputs");
    k.no_epilogue();
    const int width = static_cast<int>(pad(channels));
    ImageParam x = k.input(a.x, dense({width, inputs, rows}));
    ImageParam w = k.weight(a.w, dense({width, outputs, inputs, taps})),
               bias = k.weight(a.bias, dense({width, outputs}));

    // Feature n of a row is channel n % channels of part n / channels.
    GroupedConv g{.a = a,
                  .width = width,
                  .outputs = outputs,
                  .rows = rows,
                  .used = used,
                  .shape = dense({width, outputs, rows}),
                  .of = RDom(0, inputs, 0, taps, "of")};
    const Var &c = g.c, &part = g.part, &r = g.r;
    const RDom &of = g.of;
    const auto input = [&](const Expr &i, const Expr &row) -> Expr {
        if (p.groups.is<"channel">()) return x(c, i, row);
        const Expr group = p.groups.is<"pairs">() ? Expr(c) : (part * channels + c) / 2;
        const Expr feature =
            clamp(2 * group + i, 0, 2 * channels - 1); // lanes beyond the channels weigh nothing
        return x(feature % channels, feature / channels, row);
    };
    const Expr row = r + of.y - taps / 2;
    g.sum(c, part, r) = bias(c, part);
    g.sum(c, part, r) +=
        select(row >= 0 && row < used, w(c, part, of.x, of.y) * input(of.x, clamp(row, 0, used - 1)), 0.0f);
    return g;
}

void grouped_conv_on_cpu(KernelBuilder &k, const contract::GroupedConv &p) {
    GroupedConv g = define_grouped_conv(k, p);
    const Var &c = g.c, &part = g.part, &r = g.r;
    const RDom &of = g.of;
    const int width = g.width, outputs = g.outputs, vec = dividing_vector(width, k.target.vector_lanes);
    Func &sum = g.sum, y("y");
    y(c, part, r) = 0.0f;
    RDom valid(0, g.used, "valid");
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
    k.output(y, g.a.y, g.shape);
}

// A thread for each sum; what its neighbours read as well comes from the caches.
void grouped_conv_on_gpu(KernelBuilder &k, const contract::GroupedConv &p) {
    GroupedConv g = define_grouped_conv(k, p);
    Func y("y");
    y(g.c, g.part, g.r) =
        g.used < g.rows ? select(g.r < g.used, g.sum(g.c, g.part, g.r), 0.0f) : Expr(g.sum(g.c, g.part, g.r));
    const Spread loops =
        spread(y, {g.c, g.part, g.r}, {g.width, g.outputs, g.rows}, {.rows_first = k.asks_channel_major()});
    g.sum.compute_at(y, loops.thread.var).store_in(MemoryType::Register);
    k.output(y, g.a.y, g.shape);
    k.allow_channel_major({g.a.x.text, y.name()});
}

const Kernel<contract::GroupedConv> grouped_conv{grouped_conv_on_cpu, grouped_conv_on_gpu,
                                                 Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
