// decaying_attention: o_t = q_t·C_t with C_t = (1 − w_t) C_{t−1} + k_t v_tᵀ, a matrix C of dk × dv
// for each head whose rows decay each by a weight w of its own in [0, 1] (LightNet, Eq. 7). k is w
// itself, or w rotated by the position into `parts` parts, each with the decay of its row of w. One
// row a call (decaying_attention_step) or several (decaying_attention_chunk), on the same state in
// any order.
//
// C is a mean over everything so far and its weights fall as 1/t: in one float it would stand
// still. It is kept as two floats, high + low, and moves by differences: k v − w C, never (1 − w) C
// + k v.
#include "schedules/attention/matrix_state.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// What is added to C where it is not w itself.
template <class K> ImageParam rotated_keys(MatrixState &a, const K &params) {
    return params.parts > 1 ? a.keys(contract::names_of<K>().k, a.state_rows) : ImageParam();
}

void build_decaying_step(KernelBuilder &k, const contract::DecayingAttentionStep &params) {
    MatrixState a(k, params);
    build_step(k, a, decaying(a, rotated_keys(a, params)));
}

// What the rows of a chunk weigh in each other and in C, all of it products of decays and so at
// most the weights themselves, whatever the keys: nothing is divided, and no exponential but those
// of the weights.
class DecayWeights {
public:
    DecayWeights(MatrixState &state, const ImageParam &key_, int parts)
        : a(state), key(key_), rt(1, a.rows - 1, "rt"), rb(1, a.rows - 1, "rb"), rd(0, a.rows, "rd"),
          ri(0, a.state_rows, "ri"), rw(0, a.rows, "rw") {
        const auto decay_of = [&](const Expr &row) { return parts > 1 ? row % a.dk : row; };
        decay(i, t, n) = 1.0f - a.key(i, t, n);
        before(i, t, n) = undef<float>(); // from C to row t: all decays up to it
        before(i, 0, n) = decay(i, 0, n);
        before(i, rt, n) = before(i, rt - 1, n) * decay(i, rt, n);
        after(i, t, n) = undef<float>(); // from row t to the end: all decays behind it
        after(i, a.rows - 1, n) = 1.0f;
        after(i, a.rows - 1 - rb, n) = after(i, a.rows - rb, n) * decay(i, a.rows - rb, n);
        query(i, t, n) = a.q(i, t, n) * before(decay_of(i), t, n);
        share(i, t, n) = key(i, t, n) * after(decay_of(i), t, n);
        lost(i, n) = 0.0f;
        lost(i, n) += a.key(i, rw, n) * after(i, rw, n);
        // What is left of row j at row t, for one row of C after the other.
        left(j, t, i, n) = undef<float>();
        left(j, rd, i, n) = select(j == rd, key(i, rd, n), j < rd,
                                   left(j, max(rd - 1, 0), i, n) * decay(decay_of(i), rd, n), 0.0f);
        score(j, t, n) = 0.0f;
        score(j, t, n) += a.q(ri, t, n) * left(j, t, ri, n);
    }

    // Of one head at a time, or of all where tiles hold several.
    void schedule(int vector_lanes) {
        const int together = a.one_head ? 1 : a.heads, bytes = 4 * a.rows * together;
        int lanes = 1; // of the scores, whose rows are padded to whole vectors
        while (lanes < std::min(a.rows, vector_lanes)) lanes *= 2;
        const int columns = (a.rows + lanes - 1) / lanes * lanes;
        for (Func f : {decay, before, after, query, share}) {
            const int of_head = f.name() == query.name() || f.name() == share.name() ? a.state_rows : a.dk;
            f.compute_at(a.y, a.h).bound_extent(i, of_head).bound(t, 0, a.rows).bound_extent(n, together);
            store(f, int64_t{bytes} * of_head);
        }
        const int wide = dividing_vector(a.dk, vector_lanes);
        for (Func f : {decay, query, share}) f.vectorize(i, wide);
        for (const auto &[f, r] : {std::pair{before, rt}, std::pair{after, rb}}) {
            Func(f).update(0).vectorize(i, wide);
            Func(f).update(1).reorder(i, r.x, n).vectorize(i, wide);
        }
        lost.compute_at(a.y, a.h).bound_extent(i, a.dk).bound_extent(n, together).vectorize(i, wide);
        lost.update().reorder(i, rw, n).vectorize(i, wide);
        store(lost, int64_t{4} * a.dk * together);
        Var ji("ji"), jo("jo");
        score.compute_at(a.y, a.h).bound_extent(j, columns).bound_extent(t, a.rows).bound_extent(n, together);
        score.vectorize(j, lanes);
        score.update().split(j, jo, ji, lanes).reorder(ji, t, ri, jo, n).vectorize(ji).unroll(t);
        store(score, int64_t{bytes} * columns);
        left.compute_at(score, ri).bound_extent(j, lanes).bound_extent(t, a.rows);
        left.update().reorder(j, rd).vectorize(j, lanes).unroll(rd);
        store(left, int64_t{4} * lanes * a.rows);
    }

    Func query{"query"}, share{"share"}, lost{"lost"}, score{"score"};

private:
    MatrixState &a;
    const ImageParam key;
    Func decay{"decay"}, before{"before"}, after{"after"}, left{"left"};
    Var i{"i"}, t{"t"}, j{"j"}, n{"n"};
    RDom rt, rb, rd, ri, rw;
};

void build_decaying_chunk(KernelBuilder &k, const contract::DecayingAttentionChunk &params) {
    MatrixState a(k, params);
    MatrixChunk chunk(k, a);
    const ImageParam rotated = rotated_keys(a, params);

    // THE ALGORITHM o = score·v + query·C row by row of time, then C += shareᵀ·v − lost·C; in-chunk
    // sums are of at most 64 terms.
    DecayWeights weights(a, rotated.defined() ? rotated : a.key, params.parts);
    using Part = MatrixState::Part;
    chunk.sum_values(Part::o,
                     [&](const Expr &row, const Expr &time) { return weights.score(row, time, a.head()); });
    chunk.add(Part::o, Part::high,
              [&](const Expr &row, const Expr &time) { return weights.query(row, time, a.head()); });
    chunk.move([&](const Expr &row, const Expr &time) { return weights.share(row, time, a.head()); },
               [&](const Expr &row, const Expr &of_part,
                   const Expr &increment) -> std::vector<MatrixState::Written> {
                   const MatrixState::Sum sum =
                       a.plus(row, increment - weights.lost(of_part, a.head()) * a.at(Part::high, row));
                   return {{Part::high, sum.high}, {Part::low, sum.low}};
               });

    // THE SCHEDULE
    weights.schedule(k.target.vector_lanes);
    chunk.finish();
}

} // namespace

static const Kernel<contract::DecayingAttentionStep> decaying_attention_step{build_decaying_step};
static const Kernel<contract::DecayingAttentionChunk> decaying_attention_chunk{build_decaying_chunk};

} // namespace longwave::schedules
