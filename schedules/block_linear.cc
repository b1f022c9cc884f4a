// block_linear: a block-diagonal matrix times each row: block j makes its outputs of its own inputs. For narrow
// blocks; those of whole panels are products (linear.cc).
#include "schedules/registry.h"
#include <numeric>

namespace longwave::schedules {

using namespace Halide;

static void build_block_linear(KernelBuilder &k) {
    const int in = k.params.integer("in", 1, 1 << 24), out = k.params.integer("out", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 20);
    const int of_block = k.params.integer("in_block", 1, in), made = k.params.integer("out_block", 1, out),
              first = k.params.integer_or("first", 0, 0, in);
    k.params.require(out % made == 0 && first + out / made * of_block <= in,
                     "'in' must hold the blocks from 'first' on");
    const int width = static_cast<int>(pad(out)), in_row = static_cast<int>(pad(in));
    const Shape y_shape = dense({width, rows});
    ImageParam x = k.input("x", dense({in_row, rows}));
    ImageParam w = k.weight("w", dense({width, of_block})), bias = k.weight("bias", dense({width}));

    // THE ALGORITHM
    // Lanes behind the last output weigh nothing.
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const bool whole = made % vec == 0; // a vector lies in one block
    const int tile = whole ? vec * divisor_at_most(std::gcd(made, width) / vec, 4) : vec;
    Var o("o"), r("r"), oo("oo"), oi("oi"), ro("ro"), ri("ri");
    RDom i(0, of_block, "i");
    Func sum("sum"), y("y");
    const auto start = [&](const Expr &output) -> Expr {
        return first + min(output / made, out / made - 1) * of_block;
    };
    sum(o, oo, r) = bias(oo * tile + o);
    sum(o, oo, r) += w(oo * tile + o, i) * x(start(whole ? Expr(oo * tile) : Expr(oo * tile + o)) + i, r);
    Var n("n");
    y(n, r) = k.epilogue(sum(n % tile, n / tile, r), {n, r}, y_shape, out);

    // THE SCHEDULE A register tile of outputs by rows; the weights of a tile stay in the first cache
    // while rows go by.
    const int across = std::min(rows, k.target.vector_registers == 32 ? 6 : 3);
    y.split(n, oo, oi, tile).split(r, ro, ri, across, TailStrategy::ShiftInwards).reorder(oi, ri, ro, oo);
    y.vectorize(oi, vec).unroll(oi).unroll(ri);
    sum.compute_at(y, ro).bound_extent(o, tile).bound_extent(r, across).vectorize(o, vec).unroll(o).unroll(r);
    sum.update().reorder(o, r, i, oo).vectorize(o, vec).unroll(o).unroll(r);
    k.output(y, y_shape);
}

static const Kernel block_linear{"block_linear", build_block_linear};

} // namespace longwave::schedules
