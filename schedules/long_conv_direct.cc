// long_conv_direct: causal convolution over a ring by its definition; the cheapest form of short kernels.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_long_conv_direct(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20), copies = k.params.integer_or("copies", 1, 1, 64);
    const int taps = k.params.integer("taps", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 20), ring = k.params.integer("ring", 1, 1 << 24);
    k.params.require(ring >= rows + taps - 1, "'ring' must hold rows + taps - 1 rows");
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, copies, rows});

    ImageParam u = k.input("u", dense({width, ring}));
    ImageParam kernel = k.weight("k", dense({width, copies, taps}));

    const Expr position = k.scalar("position");

    const int vec = dividing_vector(width, k.target.vector_lanes), parts = divisor_at_most(taps, 4);
    Var c("c"), m("m"), r("r"), p("p"), n("n"), co("co"), ci("ci"), ro("ro"), ri("ri");
    Func sum("sum"), y("y");
    if (rows >= 4) {
        // THE ALGORITHM for many rows: on a copy without the wrap.
        Func line("line");
        line(c, n) = u(c, wrapped(position + n - (taps - 1), ring));
        RDom t(0, parts, 0, taps / parts, "t");
        sum(c, m, r) = 0.0f;
        const Expr lag = t.y * parts + t.x;
        sum(c, m, r) += kernel(c, m, lag) * line(c, r - lag + (taps - 1));
        y(c, m, r) = k.epilogue(sum(c, m, r), {c, m, r}, y_shape, channels);

        // THE SCHEDULE: a register tile of `block` rows by `parts` taps shares what it reads.
        const int block = std::min(rows, k.target.vector_registers == 32 ? 8 : 4), length = taps - 1 + rows;
        y.split(c, co, ci, vec).split(r, ro, ri, block, TailStrategy::ShiftInwards).reorder(ci, ri, ro, m, co).vectorize(ci).unroll(ri);
        sum.compute_at(y, ro).bound_extent(c, vec).bound_extent(r, block).vectorize(c).unroll(r);
        sum.update().reorder(c, r, t.x, m, t.y).vectorize(c).unroll(r).unroll(t.x);
        line.compute_at(y, co).bound_extent(n, length).bound_extent(c, vec).vectorize(c);
        store(line, int64_t{4} * vec * length);
    } else {
        // THE ALGORITHM for few rows: each sum in `parts`, so that enough independent sums are under way.
        Func total("total");
        RDom i(0, taps / parts, "i"), q(0, parts, "q");
        sum(c, p, m, r) = 0.0f;
        sum(c, p, m, r) += kernel(c, m, i * parts + p) * u(c, wrapped(position + r - (i * parts + p), ring));
        total(c, m, r) = 0.0f;
        total(c, m, r) += sum(c, q, m, r);
        y(c, m, r) = k.epilogue(total(c, m, r), {c, m, r}, y_shape, channels);

        // THE SCHEDULE
        const int block = vec * divisor_at_most(width / vec, 4);
        y.split(c, co, ci, block).reorder(ci, co, m, r).vectorize(ci, vec).unroll(ci);
        sum.compute_at(y, co).bound_extent(c, block).vectorize(c, vec).unroll(c).unroll(p);
        sum.update().reorder(c, p, m, r, i).vectorize(c, vec).unroll(c).unroll(p);
        total.compute_at(y, co).bound_extent(c, block).vectorize(c, vec).unroll(c);
        total.update().reorder(c, m, r, q).vectorize(c, vec).unroll(c).unroll(q);
    }
    k.output(y, y_shape);
}

static const Kernel long_conv_direct{"long_conv_direct", build_long_conv_direct};

} // namespace longwave::schedules
