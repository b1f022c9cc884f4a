// linear: y = x·w + bias for one or many rows; with glu the values times the sigmoid of the gates.
#include "schedules/elementary.h"
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// A register tile: `vectors` of outputs by `rows`, each sum split into `parts` so that enough independent
// sums are under way.
struct Tile {
    int vectors, rows, parts;
};

Tile choose_tile(const targets::Target &target, int output_vectors, int rows, int halves, int in) {
    const int sums = target.vector_registers == 32 ? 24 : target.fused_multiply_add ? 12 : 8;
    Tile tile{};
    const int wide = rows >= 4 ? (target.vector_registers == 32 ? 4 : 2)
                               : sums; // many rows: share each weight vector between rows
    tile.vectors = divisor_at_most(output_vectors, std::max(1, wide / halves));
    tile.rows = std::min(rows, std::max(1, sums / (tile.vectors * halves)));
    tile.rows = (rows + (rows + tile.rows - 1) / tile.rows - 1) /
                ((rows + tile.rows - 1) / tile.rows); // even tiles: little is computed twice
    tile.parts = 1;
    while (tile.vectors * tile.rows * halves * tile.parts < 8 && in % (tile.parts * 2) == 0) tile.parts *= 2;
    return tile;
}

} // namespace

static void build_linear(KernelBuilder &k) {
    const int in = k.params.integer("in", 1, 1 << 20), out = k.params.integer("out", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 20);
    const bool has_bias = k.params.flag_or("bias", false), glu = k.params.flag_or("glu", false);
    const int width = static_cast<int>(pad(out)), halves = glu ? 2 : 1;
    const Shape y_shape = dense({width, rows});

    ImageParam x = k.input("x", dense({in, rows}));
    ImageParam w = k.weight("w", dense({halves * width, in}));
    ImageParam bias;
    if (has_bias) bias = k.weight("bias", dense({halves * width}));

    // THE ALGORITHM
    // Sums of in/parts products each, for a half h (values, gates) of output o and row r.
    const bool single = width == 1; // one output: the lanes run along the input instead
    const int vec = dividing_vector(single ? in : width, k.target.vector_lanes);
    const Tile tile =
        single ? Tile{1, std::min(rows, 4), vec} : choose_tile(k.target, width / vec, rows, halves, in);
    Var o("o"), r("r"), h("h"), p("p");
    RDom i(0, in / tile.parts, "i"), q(0, tile.parts, "q");
    Func sum("sum"), total("total"), y("y");
    sum(o, p, h, r) = 0.0f;
    sum(o, p, h, r) += w(o + h * width, i * tile.parts + p) * x(i * tile.parts + p, r);
    total(o, h, r) = has_bias ? Expr(bias(o + h * width)) : Expr(0.0f);
    total(o, h, r) += sum(o, q, h, r);
    const Expr value = glu ? total(o, 0, r) * sigmoid(total(o, 1, r)) : total(o, 0, r);
    y(o, r) = k.epilogue(value, {o, r}, y_shape, out);

    // THE SCHEDULE
    // Outputs outside, rows inside: a panel of weights stays in the cache while the rows pass by.
    Var oo("oo"), oi("oi"), ro("ro"), ri("ri");
    if (single) {
        y.split(r, ro, ri, tile.rows, TailStrategy::ShiftInwards).reorder(o, ri, ro).unroll(ri);
        sum.compute_at(y, ro).bound_extent(o, 1).reorder(p, o, h, r).vectorize(p).unroll(h).unroll(r);
        sum.update().reorder(p, o, h, r, i).vectorize(p).unroll(h).unroll(r);
        total.compute_at(y, ro).unroll(h).unroll(r);
        total.update().unroll(q).unroll(h).unroll(r);
    } else {
        const int block = tile.vectors * vec;
        y.split(o, oo, oi, block).split(r, ro, ri, tile.rows, TailStrategy::ShiftInwards);
        y.reorder(oi, ri, ro, oo).vectorize(oi, vec).unroll(oi).unroll(ri);
        sum.compute_at(y, ro).bound_extent(o, block).bound_extent(r, tile.rows);
        sum.vectorize(o, vec).unroll(o).unroll(r).unroll(h).unroll(p);
        sum.update().reorder(o, h, r, p, i).vectorize(o, vec).unroll(o).unroll(h).unroll(r).unroll(p);
        total.compute_at(y, ro)
            .bound_extent(o, block)
            .bound_extent(r, tile.rows)
            .vectorize(o, vec)
            .unroll(o)
            .unroll(r)
            .unroll(h);
        total.update().reorder(o, h, r, q).vectorize(o, vec).unroll(o).unroll(r).unroll(h).unroll(q);
    }
    k.output(y, y_shape);
}

static const Kernel linear{"linear", build_linear};

} // namespace longwave::schedules
