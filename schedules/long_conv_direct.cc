// long_conv_direct: causal convolution over a ring by its definition; the cheapest form of short kernels.
#include "schedules/kernel_builder.h"
#include "schedules/kernels.h"

namespace longwave::schedules {

using namespace Halide;

void build_long_conv_direct(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20), copies = k.params.integer_or("copies", 1, 1, 64);
    const int taps = k.params.integer("taps", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 20), ring = k.params.integer("ring", 1, 1 << 24);
    k.params.require(ring >= rows + taps - 1, "'ring' must hold rows + taps - 1 rows");
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, copies, rows});

    ImageParam u = k.input("u", dense({width, ring}));
    ImageParam kernel = k.weight("k", dense({width, copies, taps}));

    // THE ALGORITHM
    // Each sum is split into `parts` so that enough independent sums are under way when few rows are computed.
    const int lanes = dividing_vector(width, k.target.vector_lanes), vectors = divisor_at_most(width / lanes, 4);
    const int block = rows >= 4 ? 4 : 1; // rows that share a tap and their inputs
    const int parts = vectors * block >= 8 ? 1 : divisor_at_most(taps, 4);
    Var c("c"), m("m"), r("r"), p("p"), n("n");
    Expr position;
    Func line("line"), sum("sum"), y("y");
    RDom t(0, taps / parts, "t"), q(0, parts, "q");
    Expr lag = t * parts + p;
    Expr input;
    if (block > 1) { // a copy without the wrap lets neighbouring rows share what they read
        line(c, n) = u(c, wrapped(k.scalar("position") + n - (taps - 1), ring));
        input = line(c, r - lag + (taps - 1));
    } else {
        input = u(c, wrapped(k.scalar("position") + r - lag, ring));
    }
    sum(c, p, m, r) = 0.0f;
    sum(c, p, m, r) += kernel(c, m, lag) * input;
    Func total("total");
    total(c, m, r) = 0.0f;
    total(c, m, r) += sum(c, q, m, r);
    y(c, m, r) = k.epilogue(total(c, m, r), {c, m, r}, y_shape, channels);

    // THE SCHEDULE
    Var co("co"), ci("ci"), ro("ro"), ri("ri");
    y.split(c, co, ci, vectors * lanes).split(r, ro, ri, block, TailStrategy::ShiftInwards);
    y.reorder(ci, ri, ro, m, co).vectorize(ci, lanes).unroll(ci).unroll(ri);
    sum.compute_at(y, ro).bound_extent(c, vectors * lanes).bound_extent(r, block);
    sum.vectorize(c, lanes).unroll(c).unroll(p).unroll(r);
    sum.update().reorder(c, r, p, m, t).vectorize(c, lanes).unroll(c).unroll(r).unroll(p);
    total.compute_at(y, ro).vectorize(c, lanes).unroll(c).unroll(r);
    total.update().reorder(c, r, m, q).vectorize(c, lanes).unroll(c).unroll(r).unroll(q);
    if (block > 1) {
        const int length = taps - 1 + rows;
        line.compute_at(y, co).bound_extent(n, length).bound_extent(c, vectors * lanes).vectorize(c, lanes).unroll(c);
        store(line, int64_t{4} * vectors * lanes * length);
    }
    k.output(y, y_shape);
}

} // namespace longwave::schedules
