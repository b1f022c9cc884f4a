// linear_attention_offline: o_t = q_t·S with S = Σ_{τ < length} k_τ v_τᵀ, a matrix of dk × dv for
// each head: a product of keys and values over all rows, then a product of queries with it.
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// Values are P(heads·dv) lanes, cut into tiles. Where 16 divides dv, or 8 does and there is no
// padding, a tile belongs to one head and keys and queries are scalars to its lanes; where not,
// each lane looks up its head, which takes a CPU ten times as long.
struct WholeAttention {
    const contract::LinearAttentionOffline::Arguments<contract::Names> names =
        contract::names_of<contract::LinearAttentionOffline>();
    int heads, dk, dv, rows;
    bool one_head;
    int width, tile, groups, tiles;
    Shape shape;
    ImageParam q, key, v;
    Expr length;
    Var c{"c"}, i{"i"}, s{"s"}, h{"h"}, t{"t"}, b{"b"};
    Func part{"part"}, sum{"sum"}, o{"o"}, y{"y"};

    WholeAttention(KernelBuilder &k, const contract::LinearAttentionOffline &p)
        : heads(p.heads), dk(p.dk), dv(p.dv), rows(p.rows),
          one_head(heads == 1 || dv % 16 == 0 || (dv % 8 == 0 && dv <= 64 && heads * dv % 16 == 0)),
          width(static_cast<int>(pad(static_cast<uint32_t>(heads * dv)))), tile(tile_of()),
          groups(one_head ? heads : 1), tiles(width / tile / groups),
          shape({{extent(tile), 1},
                 {extent(rows), width},
                 {extent(tiles), tile},
                 {extent(groups), tiles * tile}}) {
        k.no_epilogue();
        k.params.require(int64_t{tile} * dk <= 1 << 24, "'dk' is too large");
        const int key_row = static_cast<int>(pad(static_cast<uint32_t>(heads * dk)));
        const Shape key_shape = {{extent(dk), 1}, {extent(rows), key_row}, {extent(heads), dk}};
        q = k.input(names.q, key_shape), key = k.input(names.k, key_shape), v = k.input(names.v, shape);
        length = k.scalar(names.length, rows);
    }
    Expr head() const { return one_head ? Expr(h) : Expr(min((s * tile + c) / dv, heads - 1)); }
    int chain() const { return std::min(rows, 64); }

private:
    int tile_of() const {
        const int sharing = one_head && heads > 1 ? dv : width; // lanes with one key
        return width == 1 ? 1 : sharing % 64 == 0 ? 64 : sharing % 32 == 0 ? 32 : sharing % 16 == 0 ? 16 : dv;
    }
};

void linear_attention_whole_on_cpu(KernelBuilder &k, const contract::LinearAttentionOffline &params) {
    WholeAttention a(k, params);
    const int dk = a.dk, rows = a.rows, tile = a.tile, vec = dividing_vector(tile, k.target.vector_lanes);
    const Expr &length = a.length;
    const Var &c = a.c, &i = a.i, &s = a.s, &h = a.h, &t = a.t, &b = a.b;
    Func &part = a.part, &sum = a.sum, &o = a.o, &y = a.y;

    // THE ALGORITHM Sums over `chain` rows at a time, then over these: float32 keeps its accuracy
    // over a long sequence. Rows from `length` on hold anything: the last row that counts stands
    // for them, times zero.
    const int chain = a.chain();
    const Expr head = a.head();
    RDom in(0, chain, "in"), over(0, (length + chain - 1) / chain, "over"), along(0, dk, "along");
    const Expr row = b * chain + in,
               valid = unsafe_promise_clamped(min(row, max(length, 1) - 1), 0, rows - 1);
    part(c, i, b, s, h) = 0.0f;
    part(c, i, b, s, h) += select(row < length, a.key(i, valid, head), 0.0f) * a.v(c, valid, s, h);
    sum(c, i, s, h) = 0.0f;
    sum(c, i, s, h) += part(c, i, over, s, h);
    o(c, t, s, h) = 0.0f;
    o(c, t, s, h) += a.q(along, t, head) * sum(c, along, s, h);
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
    k.output(y, a.names.y, a.shape);
}

// A workgroup for a few lanes of values: its threads add up the matrix of these in shared memory,
// lanes by rows of the matrix, and then take rows of queries.
void linear_attention_offline_on_gpu(KernelBuilder &k, const contract::LinearAttentionOffline &params) {
    WholeAttention a(k, params);
    int wide = std::min(a.tile, 64);
    while (wide > 1 && int64_t{4} * wide * a.dk > k.target.shared_bytes / 2) wide /= 2;
    k.params.require(4 * wide * a.dk <= k.target.shared_bytes, "'dk' is too large for " + k.target.name);
    const int down = loop_threads(k.target) / power_of_two_above(wide);

    // THE ALGORITHM
    const Var &c = a.c, &i = a.i, &s = a.s, &h = a.h, &t = a.t, &b = a.b;
    RDom in(0, a.chain(), "in"), over(0, (a.rows + a.chain() - 1) / a.chain(), "over"),
        along(0, a.dk, "along");
    const Expr row = b * a.chain() + in, inside = min(row, a.rows - 1), lane = min(c, a.tile - 1);
    // Rows from `length` on hold anything, infinities too.
    const Expr head = a.one_head ? Expr(h) : Expr(min((s * a.tile + lane) / a.dv, a.heads - 1));
    a.part(c, i, b, s, h) = 0.0f;
    a.part(c, i, b, s, h) += select(row < a.length, a.key(i, inside, head) * a.v(lane, inside, s, h), 0.0f);
    a.sum(c, i, s, h) = 0.0f;
    a.sum(c, i, s, h) += a.part(c, i, over, s, h);
    a.o(c, t, s, h) = 0.0f;
    a.o(c, t, s, h) += a.q(along, t, a.head()) * a.sum(c, along, s, h);
    a.y(c, t, s, h) = a.o(c, t, s, h);

    // THE SCHEDULE
    Var block("block"), thread("thread"), line("line"), of_line("of_line");
    a.y.split(c, block, thread, wide, TailStrategy::GuardWithIf)
        .split(t, of_line, line, down, TailStrategy::GuardWithIf)
        .reorder(of_line, thread, line, block, s, h)
        .gpu_blocks(block, s, h)
        .gpu_threads(thread, line);
    a.o.compute_at(a.y, of_line).store_in(MemoryType::Register);
    a.sum.compute_at(a.y, block).store_in(MemoryType::GPUShared).bound_extent(c, wide).bound_extent(i, a.dk);
    a.sum.split(i, of_line, line, down, TailStrategy::GuardWithIf).reorder(of_line, c, line);
    a.sum.gpu_threads(c, line);
    a.sum.update().split(i, of_line, line, down, TailStrategy::GuardWithIf).reorder(over, of_line, c, line);
    a.sum.update().gpu_threads(c, line);
    a.part.compute_at(a.sum, over).store_in(MemoryType::Register);
    k.output(a.y, a.names.y, a.shape);
}

const Kernel<contract::LinearAttentionOffline> linear_attention_offline{
    linear_attention_whole_on_cpu, linear_attention_offline_on_gpu, Fp16::inputs};

} // namespace

} // namespace longwave::schedules
