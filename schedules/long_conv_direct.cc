// long_conv_direct: causal convolution over a ring by its definition; the cheapest form of short kernels.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_long_conv_direct(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              copies = k.params.integer_or("copies", 1, 1, 64);
    const int taps = k.params.integer("taps", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 20),
              ring = k.params.integer("ring", 1, 1 << 24);
    k.params.require(ring >= rows + taps - 1, "'ring' must hold rows + taps - 1 rows");
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, copies, rows});

    ImageParam u = k.input("u", dense({width, ring}));
    ImageParam kernel = k.weight("k", dense({width, copies, taps}));

    const Expr position = k.scalar("position", ring - rows);

    // Sums are taken of chunks of at most 256 taps, so that rounding does not grow with the kernel; the taps
    // that fill no chunk are added one by one.
    const int vec = dividing_vector(width, k.target.vector_lanes), chunks = (taps + 255) / 256;
    const int parts = chunks > 1  ? 4
                      : rows >= 4 ? divisor_at_most(taps, 4)
                                  : std::min(taps, 4),
              steps = taps / (parts * chunks), chunk = parts * steps;
    const int rest = taps - chunks * chunk;
    Var c("c"), m("m"), r("r"), p("p"), n("n"), g("g"), co("co"), ci("ci"), ro("ro"), ri("ri");
    Func sum("sum"), total("total"), y("y");
    RDom last(chunks * chunk, std::max(rest, 1), "last");
    if (rows >= 4) {
        // THE ALGORITHM for many rows: on a copy without the wrap.
        Func line("line");
        line(c, n) = u(c, wrapped(position + n - (taps - 1), ring));
        const auto product = [&](const Expr &lag) {
            return kernel(c, m, lag) * line(c, r - lag + (taps - 1));
        };
        RDom t(0, parts, 0, steps, "t"), q(0, chunks, "q");
        sum(c, m, r, g) = 0.0f;
        sum(c, m, r, g) += product(g * chunk + t.y * parts + t.x);
        if (chunks > 1) {
            total(c, m, r) = 0.0f;
            total(c, m, r) += sum(c, m, r, q);
            if (rest > 0) total(c, m, r) += product(last);
        }
        y(c, m, r) = k.epilogue(chunks > 1 ? total(c, m, r) : sum(c, m, r, 0), {c, m, r}, y_shape, channels);

        // THE SCHEDULE: a register tile of `block` rows by `parts` taps shares what it reads.
        const int block = std::min(rows, k.target.vector_registers == 32 ? 8 : 4), length = taps - 1 + rows;
        y.split(c, co, ci, vec)
            .split(r, ro, ri, block, TailStrategy::ShiftInwards)
            .reorder(ci, ri, ro, m, co)
            .vectorize(ci)
            .unroll(ri);
        if (chunks > 1) {
            total.compute_at(y, ro).bound_extent(c, vec).bound_extent(r, block).vectorize(c).unroll(r);
            total.update(0).reorder(c, r, m, q).vectorize(c).unroll(r);
            if (rest > 0) total.update(1).reorder(c, r, m, last).vectorize(c).unroll(r);
            sum.compute_at(total, q);
        } else {
            sum.compute_at(y, ro);
        }
        sum.bound_extent(c, vec).bound_extent(r, block).vectorize(c).unroll(r);
        sum.update().reorder(c, r, t.x, m, t.y).vectorize(c).unroll(r).unroll(t.x);
        line.compute_at(y, co).bound_extent(n, length).bound_extent(c, vec).vectorize(c);
        store(line, int64_t{4} * vec * length);
    } else {
        // THE ALGORITHM for few rows: the parts of a chunk run side by side.
        const auto product = [&](const Expr &lag) {
            return kernel(c, m, lag) * u(c, wrapped(position + r - lag, ring));
        };
        RDom i(0, steps, "i"), q(0, parts, 0, chunks, "q");
        sum(c, p, m, r, g) = 0.0f;
        sum(c, p, m, r, g) += product(g * chunk + i * parts + p);
        total(c, m, r) = 0.0f;
        total(c, m, r) += sum(c, q.x, m, r, q.y);
        if (rest > 0) total(c, m, r) += product(last);
        y(c, m, r) = k.epilogue(total(c, m, r), {c, m, r}, y_shape, channels);

        // THE SCHEDULE
        const int block = vec * divisor_at_most(width / vec, 4);
        y.split(c, co, ci, block).reorder(ci, co, m, r).vectorize(ci, vec).unroll(ci);
        total.compute_at(y, co).bound_extent(c, block).vectorize(c, vec).unroll(c);
        total.update(0).reorder(c, m, r, q.x, q.y).vectorize(c, vec).unroll(c).unroll(q.x);
        if (rest > 0) total.update(1).reorder(c, m, r, last).vectorize(c, vec).unroll(c);
        sum.compute_at(total, q.y).bound_extent(c, block).vectorize(c, vec).unroll(c).unroll(p);
        sum.update().reorder(c, p, m, r, i).vectorize(c, vec).unroll(c).unroll(p);
    }
    k.output(y, y_shape);
}

static const Kernel long_conv_direct{"long_conv_direct", build_long_conv_direct};

} // namespace longwave::schedules
