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

void build_linear_step(KernelBuilder &k, const contract::LinearAttentionStep &params) {
    MatrixState a(k, params);
    build_step(k, a, outer_product(a));
}

void build_linear_chunk(KernelBuilder &k, const contract::LinearAttentionChunk &params) {
    MatrixState a(k, params);
    MatrixChunk chunk(k, a);
    const Var i = a.i, t = a.t, j = a.j;
    const int rows = a.rows;
    int lanes = 1; // of the scores, whose rows are padded to whole vectors
    while (lanes < std::min(rows, k.target.vector_lanes)) lanes *= 2;
    const int columns = (rows + lanes - 1) / lanes * lanes;

    // THE ALGORITHM o = mask(q·kᵀ)·v + q·S row by row of time, then S += kᵀ·v; in-chunk sums are of
    // at most 64 terms.
    Func transposed("transposed"), score("score"), masked("masked");
    RDom ri(0, a.dk, "ri");
    Var n("n"), to("to"), ti("ti");
    transposed(j, i, n) = select(j < rows, a.key(i, min(j, rows - 1), n), 0.0f);
    score(j, t, n) = 0.0f;
    score(j, t, n) += transposed(j, ri, n) * a.q(ri, t, n);
    masked(j, t, n) = select(j <= t, score(j, t, n), 0.0f);
    using Part = MatrixState::Part;
    chunk.sum_values(Part::o, [&](const Expr &row, const Expr &time) { return masked(row, time, a.head()); });
    chunk.add(Part::o, Part::high,
              [&](const Expr &row, const Expr &time) { return a.q(row, time, a.head()); });
    chunk.move(
        [&](const Expr &row, const Expr &time) { return a.key(row, time, a.head()); },
        [&](const Expr &row, const Expr &, const Expr &increment) -> std::vector<MatrixState::Written> {
            const MatrixState::Sum sum = a.plus(row, increment);
            return {{Part::high, sum.high}, {Part::low, sum.low}};
        });

    // THE SCHEDULE Scores of one head at a time, or of all where tiles hold several heads.
    const int together = a.one_head ? 1 : a.heads,
              height = divisor_at_most(rows, std::max(1, chunk.sums * lanes / columns));
    masked.compute_at(a.y, a.h).bound_extent(j, columns).bound_extent(t, rows).bound_extent(n, together);
    masked.split(t, to, ti, height).reorder(j, ti, to, n).vectorize(j, lanes).unroll(j).unroll(ti);
    store(masked, int64_t{4} * columns * rows * together);
    score.compute_at(masked, to)
        .bound_extent(j, columns)
        .bound_extent(t, height)
        .vectorize(j, lanes)
        .unroll(j)
        .unroll(t);
    score.update().reorder(j, t, ri).vectorize(j, lanes).unroll(j).unroll(t);
    transposed.compute_at(masked, n).bound_extent(j, columns).bound_extent(i, a.dk).vectorize(j, lanes);
    store(transposed, int64_t{4} * columns * a.dk);
    chunk.finish();
}

} // namespace

static const Kernel<contract::LinearAttentionStep> linear_attention_step{build_linear_step};
static const Kernel<contract::LinearAttentionChunk> linear_attention_chunk{build_linear_chunk};

} // namespace longwave::schedules
