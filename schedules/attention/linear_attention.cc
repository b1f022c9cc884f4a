// linear_attention: causal linear attention, o_t = q_t·S_t with S_t = Σ_{τ ≤ t} k_τ v_τᵀ, a matrix
// S of dk × dv for each head. S stays where it lies and is updated there: one row a call
// (linear_attention_step) or several (linear_attention_chunk), on the same state in any order.
//
// S grows with every row, so it is kept as two floats, high + low: high is what products use, low
// what rounding took from it.
#include "schedules/attention/matrix_state.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

void build_step(KernelBuilder &k, const contract::LinearAttentionStep &params) {
    MatrixState a(k, params);

    // THE ALGORITHM One pass over S updates it and sums o, which has no row dimension: every row of
    // S adds to the same element.
    const Var c = a.c, s = a.s, h = a.h;
    RDom r(0, a.dk, "r");
    const Expr p = a.key(r, 0, a.head()) * a.v(c, 0, s, h);
    const MatrixState::Sum sum = a.plus(r, p);
    // The sum again, in plain sight: Halide must see what this element reads of its siblings, and
    // does not look inside strict_float.
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

void build_chunk(KernelBuilder &k, const contract::LinearAttentionChunk &params) {
    MatrixState a(k, params);
    a.require_chunk();
    const Var c = a.c, i = a.i, s = a.s, h = a.h, t = a.t, j = a.j;
    const int rows = a.rows, vectors = a.tile / a.vec, sums = k.target.vector_registers == 32 ? 16 : 8;
    int lanes = 1; // of the scores, whose rows are padded to whole vectors
    while (lanes < std::min(rows, k.target.vector_lanes)) lanes *= 2;
    const int columns = (rows + lanes - 1) / lanes * lanes;
    const RegisterTile time = register_tile(vectors, rows, sums), state = register_tile(vectors, a.dk, sums);

    // THE ALGORITHM o = mask(q·kᵀ)·v + q·S row by row of time, then S += kᵀ·v; in-chunk sums are
    // plain float32, of at most 64 terms.
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
    const MatrixState::Sum sum = a.plus(at, increment(c, at, s, h));
    a.y(c, at, s, h) = Tuple(sum.high, sum.low, undef<float>());

    // THE SCHEDULE
    const int time_block = time.across * a.vec, state_block = state.across * a.vec;
    schedule_update(a, 0, time_block, {rt.x, rt.y});
    schedule_update(a, 1, time_block, {r.x, r.y, r.z});
    schedule_update(a, 2, state_block, {ru.x, ru.y});
    schedule_block(a, inside, rt.y, time_block, t, time.down, rj);
    schedule_block(a, increment, ru.y, state_block, i, state.down, rs);
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

static const Kernel<contract::LinearAttentionStep> linear_attention_step{build_step};
static const Kernel<contract::LinearAttentionChunk> linear_attention_chunk{build_chunk};

} // namespace longwave::schedules
