// linear_attention_whole: o_t = q_t·S with S = Σ_{τ < length} k_τ v_τᵀ, a matrix of dk × dv for each head: a
// product of keys and values over all rows, then a product of queries with it.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

// Values are P(heads·dv) lanes, cut into tiles. Where 16 divides dv, or 8 does and there is no padding, a tile
// belongs to one head and keys and queries are scalars to its lanes; where not, each lane looks up its head,
// which takes ten times as long.
static void build_linear_attention_whole(KernelBuilder &k) {
    const int heads = k.params.integer("heads", 1, 1 << 12), dk = k.params.integer("dk", 1, 1 << 12),
              dv = k.params.integer("dv", 1, 1 << 12), rows = k.params.integer("rows", 1, 1 << 24);
    const bool whole_vectors = dv % 16 == 0 || (dv % 8 == 0 && dv <= 64 && heads * dv % 16 == 0),
               one_head = heads == 1 || whole_vectors;
    const int width = static_cast<int>(pad(static_cast<uint32_t>(heads * dv))),
              sharing = one_head && heads > 1 ? dv : width, // lanes with one key
        tile = width == 1          ? 1
               : sharing % 64 == 0 ? 64
               : sharing % 32 == 0 ? 32
               : sharing % 16 == 0 ? 16
                                   : dv,
              groups = one_head ? heads : 1, tiles = width / tile / groups,
              vec = dividing_vector(tile, k.target.vector_lanes);
    k.no_epilogue();
    k.params.require(int64_t{tile} * dk <= 1 << 24, "'dk' is too large");
    const int key_row = static_cast<int>(pad(static_cast<uint32_t>(heads * dk)));
    const Shape key_shape = {{extent(dk), 1}, {extent(rows), key_row}, {extent(heads), dk}},
                shape = {{extent(tile), 1},
                         {extent(rows), width},
                         {extent(tiles), tile},
                         {extent(groups), tiles * tile}};
    ImageParam q = k.input("q", key_shape), key = k.input("k", key_shape), v = k.input("v", shape);
    const Expr length = k.scalar("length", rows);

    // THE ALGORITHM
    // Sums over `chain` rows at a time, then over these: float32 keeps its accuracy over a long sequence. Rows
    // from `length` on hold anything: the last row that counts stands for them, times zero.
    const int chain = std::min(rows, 64);
    Var c("c"), i("i"), s("s"), h("h"), t("t"), b("b");
    const Expr head = one_head ? Expr(h) : Expr(min((s * tile + c) / dv, heads - 1));
    RDom in(0, chain, "in"), over(0, (length + chain - 1) / chain, "over"), along(0, dk, "along");
    Func part("part"), sum("sum"), o("o"), y("y");
    const Expr row = b * chain + in,
               valid = unsafe_promise_clamped(min(row, max(length, 1) - 1), 0, rows - 1);
    part(c, i, b, s, h) = 0.0f;
    part(c, i, b, s, h) += select(row < length, key(i, valid, head), 0.0f) * v(c, valid, s, h);
    sum(c, i, s, h) = 0.0f;
    sum(c, i, s, h) += part(c, i, over, s, h);
    o(c, t, s, h) = 0.0f;
    o(c, t, s, h) += q(along, t, head) * sum(c, along, s, h);
    y(c, t, s, h) = o(c, t, s, h);

    // THE SCHEDULE
    // Both products in register tiles, `across` vectors of lanes by `down` rows.
    const int across = divisor_at_most(tile / vec, 4), sums = k.target.vector_registers == 32 ? 16 : 8,
              block = across * vec, down = std::min(rows, sums / across),
              state_down = divisor_at_most(dk, sums / across);
    Var co("co"), ci("ci"), to("to"), ti("ti"), io("io"), ii("ii");
    y.split(c, co, ci, block)
        .split(t, to, ti, down, TailStrategy::ShiftInwards)
        .reorder(ci, ti, co, to, s, h)
        .vectorize(ci, vec)
        .unroll(ci)
        .unroll(ti);
    o.compute_at(y, co).bound_extent(c, block).bound_extent(t, down).vectorize(c, vec).unroll(c).unroll(t);
    o.update().reorder(c, t, along).vectorize(c, vec).unroll(c).unroll(t);
    sum.compute_at(y, s).bound_extent(c, tile).bound_extent(i, dk).vectorize(c, vec);
    store(sum, int64_t{4} * tile * dk);
    sum.update()
        .split(c, co, ci, block)
        .split(i, io, ii, state_down)
        .reorder(ci, ii, co, io, over)
        .vectorize(ci, vec)
        .unroll(ci)
        .unroll(ii);
    part.compute_at(sum, co)
        .bound_extent(c, block)
        .bound_extent(i, state_down)
        .vectorize(c, vec)
        .unroll(c)
        .unroll(i);
    part.update().reorder(c, i, in).vectorize(c, vec).unroll(c).unroll(i);
    k.output(y, shape);
}

static const Kernel linear_attention_whole{"linear_attention_whole", build_linear_attention_whole};

} // namespace longwave::schedules
