// block_linear: a block-diagonal matrix times each row: block j makes its outputs of its own
// inputs. For narrow blocks; those of whole panels are products (linear.cc).
#include "schedules/contract/kernels/linear.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include <numeric>

namespace longwave::schedules {

using namespace Halide;

namespace {

struct BlockLinear {
    contract::BlockLinear::Arguments<contract::Names> a;
    int out, rows, of_block, made, first, width;
    Shape shape;
    ImageParam x, w, bias;

    // The first input of an output's block. Lanes behind the last output weigh nothing.
    Expr start(const Expr &output) const { return first + min(output / made, out / made - 1) * of_block; }
};

BlockLinear declare_block_linear(KernelBuilder &k, const contract::BlockLinear &p) {
    const auto a = contract::names_of<contract::BlockLinear>();
    const int in = p.in, out = p.out, rows = p.rows, of_block = p.in_block, made = p.out_block,
              first = p.first;
    k.params.require(out % made == 0 && first + int64_t{out / made} * of_block <= in,
                     "'in' must hold the blocks from 'first' on");
    const int width = static_cast<int>(pad(out)), in_row = static_cast<int>(pad(in));
    const Shape y_shape = dense({width, rows});
    ImageParam x = k.input(a.x, dense({in_row, rows}));
    ImageParam w = k.weight(a.w, dense({width, of_block})), bias = k.weight(a.bias, dense({width}));

    return {a, out, rows, of_block, made, first, width, y_shape, x, w, bias};
}

void block_linear_on_cpu(KernelBuilder &k, const contract::BlockLinear &p) {
    const BlockLinear d = declare_block_linear(k, p);

    // THE ALGORITHM
    const int vec = dividing_vector(d.width, k.target.vector_lanes);
    const bool whole = d.made % vec == 0; // a vector lies in one block
    const int tile = whole ? vec * divisor_at_most(std::gcd(d.made, d.width) / vec, 4) : vec;
    Var o("o"), r("r"), oo("oo"), oi("oi"), ro("ro"), ri("ri");
    RDom i(0, d.of_block, "i");
    Func sum("sum"), y("y");
    sum(o, oo, r) = d.bias(oo * tile + o);
    sum(o, oo, r) +=
        d.w(oo * tile + o, i) * d.x(d.start(whole ? Expr(oo * tile) : Expr(oo * tile + o)) + i, r);
    Var n("n");
    y(n, r) = k.epilogue(sum(n % tile, n / tile, r), {n, r}, d.shape, d.out);

    // THE SCHEDULE A register tile of outputs by d.rows; the weights of a tile stay in the first
    // cache while d.rows go by.
    const int across = std::min(d.rows, k.target.vector_registers == 32 ? 6 : 3);
    y.split(n, oo, oi, tile).split(r, ro, ri, across, TailStrategy::ShiftInwards).reorder(oi, ri, ro, oo);
    y.vectorize(oi, vec).unroll(oi).unroll(ri);
    sum.compute_at(y, ro).bound_extent(o, tile).bound_extent(r, across).vectorize(o, vec).unroll(o).unroll(r);
    sum.update().reorder(o, r, i, oo).vectorize(o, vec).unroll(o).unroll(r);
    k.output(y, d.a.y, d.shape);
}

// A thread for each output of a row.
void block_linear_on_gpu(KernelBuilder &k, const contract::BlockLinear &p) {
    const BlockLinear d = declare_block_linear(k, p);
    Var o("o"), r("r");
    RDom i(0, d.of_block, "i");
    Func sum("sum"), y("y");
    sum(o, r) = d.bias(o);
    sum(o, r) += d.w(o, i) * d.x(d.start(o) + i, r);
    y(o, r) = k.epilogue(sum(o, r), {o, r}, d.shape, d.out);
    const Spread loops = spread(y, {o, r}, {d.width, d.rows});
    sum.compute_at(y, loops.thread.var).store_in(MemoryType::Register);
    k.output(y, d.a.y, d.shape);
}

const Kernel<contract::BlockLinear> block_linear{block_linear_on_cpu, block_linear_on_gpu,
                                                 Fp16::inputs_and_outputs};

} // namespace

// banded_linear: y = x·w + bias, where each output depends on a few neighbouring inputs, such as
// the bands of a mel filter bank. Only these weights are stored.

using namespace Halide;

static void build_banded_linear(KernelBuilder &k, const contract::BandedLinear &p) {
    const auto a = contract::names_of<contract::BandedLinear>();
    const int in = p.in, out = p.out, rows = p.rows, band = p.band;
    k.params.require(band <= in, "'band' must be at most 'in'");
    const Shape shape = dense({static_cast<int>(pad(extent(out))), rows});
    const ImageParam x = k.input(a.x, dense({in, rows})), w = k.weight(a.w, dense({band, out})),
                     first = k.weight(a.first, dense({out}), Int(32));
    const bool has_bias = p.bias;
    const ImageParam bias = has_bias ? k.weight(a.bias, dense({static_cast<int>(pad(extent(out)))})) : x;
    const int vec = dividing_vector(band, std::min(k.target.vector_lanes, 8)), tile = rows % 2 == 0 ? 2 : 1;

    // THE ALGORITHM
    // Whatever `first` holds, a band lies inside the row.
    Var o("o"), r("r"), q("q");
    RDom i(0, band / vec, "i"), d({{0, vec}, {0, out}}, "d");
    Func sum("sum"), total("total"), y("y");
    const Expr at = i * vec + q;
    sum(q, o, r) = 0.0f;
    sum(q, o, r) += w(at, o) * x(clamp(first(o), 0, in - band) + at, r);
    total(o, r) = has_bias ? Expr(bias(o)) : Expr(0.0f);
    total(d.y, r) += sum(d.x, d.y, r);
    y(o, r) = k.epilogue(total(o, r), {o, r}, shape, out);

    // THE SCHEDULE
    Var ro("ro"), ri("ri");
    y.split(r, ro, ri, tile).reorder(o, ri, ro).unroll(ri).vectorize(o, k.target.vector_lanes);
    total.compute_at(y, ro).bound_extent(r, tile).vectorize(o, k.target.vector_lanes).unroll(r);
    total.update().reorder(d.x, r, d.y).atomic().vectorize(d.x).unroll(r);
    store(total, int64_t{4} * static_cast<int>(pad(extent(out))) * tile);
    sum.compute_at(total, d.y).store_in(MemoryType::Stack).vectorize(q).unroll(r);
    sum.update().reorder(q, r, i).vectorize(q).unroll(r).unroll(i, std::min(4, band / vec));
    k.output(y, a.y, shape);
}

static const Kernel<contract::BandedLinear> banded_linear{build_banded_linear};

} // namespace longwave::schedules
