// linear_attention: causal linear attention, o_t = q_t·S_t with S_t = Σ_{τ ≤ t} k_τ v_τᵀ, a matrix S of dk ×
// dv for each head. S stays where it lies and is updated there: one row a call (linear_attention_step) or
// several (linear_attention_chunk), on the same state in any order.
//
// S grows with every row, so it is kept as two floats, high + low: high is what products use, low what
// rounding took from it.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// Values are P(heads·dv) lanes, cut into tiles. Where 16 divides dv, a tile belongs to one head and its keys
// are scalars to its lanes; where not, each lane looks up its head. S is [tile lanes, dk, tiles], so that a
// pass over a tile reads memory as a stream.
class Attention {
public:
    Attention(KernelBuilder &builder, int rows_);

    // The Func of S and o; its elements are S high, S low, o at (lane, row of S or of time, tile of the
    // group, group).
    Func y{"y"};
    Var c{"c"}, i{"i"}, s{"s"}, h{"h"}, t{"t"}, j{"j"}, co{"co"}, ci{"ci"};
    const int rows, heads, dk, dv;
    const bool one_head; // all lanes of a tile belong to one head
    const int width, tile, groups,
        tiles;     // lanes, lanes of a tile, groups of tiles that share keys, tiles of a group
    const int vec; // lanes of a vector
    ImageParam q, key, v;

    Expr head() const { return one_head ? Expr(h) : Expr(min((s * tile + c) / dv, heads - 1)); }
    Tuple only_o(const Expr &value) const { return Tuple(undef<float>(), undef<float>(), value); }
    // S + p in two floats; |high| ≥ |low + p| but for the first rows, where the sum is exact or its error
    // that of p.
    struct Sum {
        Expr high, low;
    };
    Sum plus(const Expr &row, const Expr &p) const;
    // `o_rows`: extent and stride of o along dimension 1.
    void outputs(const Dim &o_rows);

private:
    KernelBuilder &k_;
    static int tile_of(int width, int dv) {
        return width == 1 ? 1 : dv % 64 == 0 ? 64 : dv % 32 == 0 ? 32 : 16;
    }
    Shape row_shape(const Dim &second) const {
        return {{extent(tile), 1}, second, {extent(tiles), tile}, {extent(groups), tiles * tile}};
    }
    ImageParam keys(const char *name) {
        const int row = static_cast<int>(pad(static_cast<uint32_t>(heads * dk)));
        return k_.input(name, {{extent(dk), 1}, {extent(rows), row}, {extent(heads), dk}});
    }
};

Attention::Attention(KernelBuilder &k, int rows_)
    : rows(rows_), heads(k.params.integer("heads", 1, 1 << 12)), dk(k.params.integer("dk", 1, 1 << 12)),
      dv(k.params.integer("dv", 1, 1 << 12)), one_head(heads == 1 || dv % 16 == 0),
      width(static_cast<int>(pad(static_cast<uint32_t>(heads * dv)))), tile(tile_of(width, dv)),
      groups(one_head ? heads : 1), tiles(width / tile / groups), vec(std::min(k.target.vector_lanes, tile)),
      k_(k) {
    k.no_epilogue();
    k.params.require(int64_t{width} * dk <= 1 << 28,
                     "'heads', 'dk' and 'dv' make a state of more than 2^28 elements");
    q = keys("q");
    key = keys("k");
    v = k.input("v", row_shape({static_cast<uint32_t>(rows), width}));
    y(c, i, s, h) = only_o(undef<float>());
}

Attention::Sum Attention::plus(const Expr &row, const Expr &p) const {
    const Expr high = y(c, row, s, h)[0], increment = p + y(c, row, s, h)[1];
    const Expr sum = strict_float(high + increment);
    return {sum, strict_float(increment - strict_float(sum - high))};
}

void Attention::outputs(const Dim &o_rows) {
    const Shape state = dense({tile, dk, tiles, groups});
    k_.outputs(
        y, {{"S_high", state, ArgKind::inout}, {"S_low", state, ArgKind::inout}, {"o", row_shape(o_rows)}});
}

// As many sums as fill the registers, `across` vectors of lanes by `down` rows: both divide, and the fewer
// loads the better.
struct RegisterTile {
    int across = 1, down = 1;
};
RegisterTile register_tile(int vectors, int rows, int sums) {
    RegisterTile best;
    for (int across = 1; across <= std::min(vectors, 4); across++) {
        if (vectors % across) continue;
        const int down = divisor_at_most(rows, sums / across);
        const int more = across * down - best.across * best.down;
        if (more > 0 || (more == 0 && across + down < best.across + best.down)) best = {across, down};
    }
    return best;
}

void build_step(KernelBuilder &k) {
    Attention a(k, 1);

    // THE ALGORITHM
    // One pass over S updates it and sums o, which has no row dimension: every row of S adds to the same
    // element.
    const Var c = a.c, s = a.s, h = a.h;
    RDom r(0, a.dk, "r");
    const Expr p = a.key(r, 0, a.head()) * a.v(c, 0, s, h);
    const Attention::Sum sum = a.plus(r, p);
    // The sum again, in plain sight: Halide must see what this element reads of its siblings, and does not
    // look inside strict_float.
    const Expr now = a.y(c, r, s, h)[0] + (p + a.y(c, r, s, h)[1]);
    a.y(c, 0, s, h) = a.only_o(0.0f);
    a.y(c, r, s, h) = Tuple(sum.high, sum.low, a.y(c, r, s, h)[2] + a.q(r, 0, a.head()) * now);

    // THE SCHEDULE
    a.y.update(0).vectorize(c, a.vec);
    const int block = std::min(a.tile, 4 * a.vec);
    a.y.update(1)
        .split(c, a.co, a.ci, block)
        .reorder(a.ci, r, a.co, s, h)
        .vectorize(a.ci, a.vec)
        .unroll(a.ci);
    a.outputs({static_cast<uint32_t>(a.dk), 0});
}

void build_chunk(KernelBuilder &k) {
    Attention a(k, k.params.integer("rows", 2, 64));
    const Var c = a.c, i = a.i, s = a.s, h = a.h, t = a.t, j = a.j;
    const int rows = a.rows, vectors = a.tile / a.vec, sums = k.target.vector_registers == 32 ? 16 : 8;
    int lanes = 1; // of the scores, whose rows are padded to whole vectors
    while (lanes < std::min(rows, k.target.vector_lanes)) lanes *= 2;
    const int columns = (rows + lanes - 1) / lanes * lanes;
    const RegisterTile time = register_tile(vectors, rows, sums), state = register_tile(vectors, a.dk, sums);

    // THE ALGORITHM
    // o = mask(q·kᵀ)·v + q·S row by row of time, then S += kᵀ·v; in-chunk sums are plain float32, of at most
    // 64 terms.
    Func turned("turned"), score("score"), masked("masked"), inside("inside"), increment("increment");
    RDom ri(0, a.dk, "ri"), rj(0, rows, "rj"), rt(0, time.down, 0, rows / time.down, "rt"), rs(0, rows, "rs");
    RDom r(0, time.down, 0, a.dk, 0, rows / time.down, "r"), ru(0, state.down, 0, a.dk / state.down, "ru");
    Var n("n"), to("to"), ti("ti"), so("so"), hi("hi");
    turned(j, i, n) = select(j < rows, a.key(i, min(j, rows - 1), n), 0.0f);
    score(j, t, n) = 0.0f;
    score(j, t, n) += turned(j, ri, n) * a.q(ri, t, n);
    masked(j, t, n) = select(j <= t, score(j, t, n), 0.0f);
    inside(c, t, s, h) = 0.0f;
    inside(c, t, s, h) += masked(rj, t, a.head()) * a.v(c, rj, s, h);
    increment(c, i, s, h) = 0.0f;
    increment(c, i, s, h) += a.key(i, rs, a.head()) * a.v(c, rs, s, h);
    const Expr first = rt.y * time.down + rt.x, row = r.z * time.down + r.x, at = ru.y * state.down + ru.x;
    a.y(c, first, s, h) = a.only_o(inside(c, first, s, h));
    a.y(c, row, s, h) = a.only_o(a.y(c, row, s, h)[2] + a.q(r.y, row, a.head()) * a.y(c, r.y, s, h)[0]);
    const Attention::Sum sum = a.plus(at, increment(c, at, s, h));
    a.y(c, at, s, h) = Tuple(sum.high, sum.low, undef<float>());

    // THE SCHEDULE
    const int time_block = time.across * a.vec, state_block = state.across * a.vec;
    const auto update = [&](int which, int block, const std::vector<RVar> &loops) { // the first in registers
        std::vector<VarOrRVar> order = {a.ci};
        order.insert(order.end(), loops.begin(), loops.end());
        order.insert(order.end(), {a.co, s, h});
        Stage stage = a.y.update(which).split(c, a.co, a.ci, block).reorder(order);
        stage.vectorize(a.ci, a.vec).unroll(a.ci).unroll(loops[0]);
    };
    update(0, time_block, {rt.x, rt.y});
    update(1, time_block, {r.x, r.y, r.z});
    update(2, state_block, {ru.x, ru.y});
    inside.compute_at(a.y, rt.y)
        .bound_extent(c, time_block)
        .bound_extent(t, time.down)
        .vectorize(c, a.vec)
        .unroll(c)
        .unroll(t);
    inside.update().reorder(c, t, rj).vectorize(c, a.vec).unroll(c).unroll(t);
    increment.compute_at(a.y, ru.y)
        .bound_extent(c, state_block)
        .bound_extent(i, state.down)
        .vectorize(c, a.vec)
        .unroll(c)
        .unroll(i);
    increment.update().reorder(c, i, rs).vectorize(c, a.vec).unroll(c).unroll(i);
    // Scores of one head at a time, or of all where tiles hold several heads.
    const int together = a.one_head ? 1 : a.heads,
              height = divisor_at_most(rows, std::max(1, sums * lanes / columns));
    masked.compute_at(a.y, h).bound_extent(j, columns).bound_extent(t, rows).bound_extent(n, together);
    masked.split(t, to, ti, height).reorder(j, ti, to, n).vectorize(j, lanes).unroll(j).unroll(ti);
    store(masked, int64_t{4} * columns * rows * together);
    score.compute_at(masked, to)
        .bound_extent(j, columns)
        .bound_extent(t, height)
        .vectorize(j, lanes)
        .unroll(j)
        .unroll(t);
    score.update().reorder(j, t, ri).vectorize(j, lanes).unroll(j).unroll(t);
    turned.compute_at(masked, n).bound_extent(j, columns).bound_extent(i, a.dk).vectorize(j, lanes);
    store(turned, int64_t{4} * columns * a.dk);
    a.outputs({static_cast<uint32_t>(rows), a.width});
}

} // namespace

static const Kernel linear_attention_step{"linear_attention_step", build_step};
static const Kernel linear_attention_chunk{"linear_attention_chunk", build_chunk};

} // namespace longwave::schedules
