// matrix_recurrence: o_t = q_t·S_t with S_t = diag(w_t) S_{t−1} + b_t (a_tᵀ S_{t−1}) + k_t v_tᵀ, a matrix S
// of dk × dv for each head. One row a call (matrix_recurrence_step) or several (matrix_recurrence_chunk), on
// the same state in any order. S is one float an element: decays and corrections forget what rounding adds.
#include "schedules/attention/matrix_state.h"
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

using Part = MatrixState::Part;
enum class Decay { none, head, key };

// The arguments that only this op has.
struct RecurrenceInputs {
    Decay decay;
    bool rank_one;
    ImageParam w, a, b;

    template <class K> RecurrenceInputs(MatrixState &s, const K &p)
        : decay(p.decay.template is<"none">()   ? Decay::none
                : p.decay.template is<"head">() ? Decay::head
                                                : Decay::key),
          rank_one(p.rank_one) {
        const auto names = contract::names_of<K>();
        if (decay != Decay::none) w = s.keys(names.w, decay == Decay::key ? s.dk : 1, s.heads);
        if (!rank_one) return;
        a = s.keys(names.a, s.dk, s.heads);
        b = s.keys(names.b, s.dk, s.key_heads);
    }
    // What decay w is of key i.
    Expr of(const Expr &i) const { return decay == Decay::key ? i : Expr(0); }
};

void build_recurrence_step(KernelBuilder &k, const contract::MatrixRecurrenceStep &params) {
    MatrixState a(k, params);
    const RecurrenceInputs in(a, params);
    const Var c = a.c, s = a.s, h = a.h;

    // THE ALGORITHM Per tile a pass over S for aᵀS, and one that moves S on and sums o. Both are one
    // definition, so that the second finds the tile in the near cache. The passes are unrolled, and
    // nothing is left of the choices between them.
    RDom r(0, a.dk, 0, in.rank_one ? 2 : 1, "r");
    const Expr i = r.x, now = a.at(Part::high, i);
    Expr next = a.key(i, 0, a.key_head()) * a.v(c, 0, s, h);
    if (in.rank_one) next += in.b(i, 0, a.key_head()) * a.at(Part::read, i);
    next += in.decay == Decay::none ? now : now * in.w(in.of(i), 0, a.head());
    const auto chosen = [&](const Expr &moved, const Expr &kept) {
        return in.rank_one ? select(r.y == 1, moved, kept) : moved;
    };
    std::vector<MatrixState::Written> begin = {{Part::o, 0.0f}},
                                      pass = {
                                          {Part::high, chosen(next, now)},
                                          {Part::o, chosen(a.at(Part::o, i) + a.q(i, 0, a.key_head()) * next,
                                                           a.at(Part::o, i))}};
    if (in.rank_one) {
        const Expr read = a.at(Part::read, i);
        begin.push_back({Part::read, 0.0f});
        pass.push_back({Part::read, chosen(read, read + in.a(i, 0, a.head()) * now)});
    }
    a.y(c, 0, s, h) = a.only(begin);
    a.y(c, i, s, h) = a.only(pass);

    // THE SCHEDULE
    a.y.update(0).vectorize(c, a.vec);
    Stage stage = a.y.update(1)
                      .split(c, a.co, a.ci, std::min(a.tile, 4 * a.vec))
                      .reorder(a.ci, r.x, r.y, a.co, s, h)
                      .vectorize(a.ci, a.vec)
                      .unroll(a.ci);
    stage.unroll(r.y);
    a.outputs({extent(a.dk), 0});
}

// What rows of a chunk weigh in each other, in o, in aᵀS and in S: products of decays, a few dot products of
// keys, and the solution of one triangular system. Nothing is divided.
class RecurrenceWeights {
public:
    RecurrenceWeights(const MatrixState &state, const RecurrenceInputs &inputs, int vector_lanes)
        : s(state), in(inputs), wide(dividing_vector(s.dk, vector_lanes)) {
        while (lanes < std::min(s.rows, vector_lanes)) lanes *= 2;
        columns = (s.rows + lanes - 1) / lanes * lanes;
        if (in.decay != Decay::none) decays();
        const auto of_keys = [this](const ImageParam &of) {
            return [this, of](const Expr &row, const Expr &time) { return of(row, time, key_head()); };
        };
        const Value query_in = of_keys(s.q), key_in = of_keys(s.key);
        define(query, query_in(i, t) * (in.decay == Decay::none ? Expr(1.0f) : before(in.of(i), t, n)));
        define(share, key_in(i, t) * (in.decay == Decay::none ? Expr(1.0f) : after(in.of(i), t, n)));
        score = products("score", query_in, key_in, 0);
        if (!in.rank_one) return;
        const Value a = [this](const Expr &row, const Expr &time) { return in.a(row, time, n); },
                    b = of_keys(in.b);
        define(share_of_read, b(i, t) * (in.decay == Decay::none ? Expr(1.0f) : after(in.of(i), t, n)));
        score_of_read = products("score_of_read", query_in, b, 0);
        solve(a, b, key_in);
    }

    // Of values in o, of values in S, of S in o; of aᵀS in o, of aᵀS in S; of values in aᵀS, of S in aᵀS.
    Func score, share{"share"}, query{"query"};
    Func score_of_read, share_of_read{"share_of_read"};
    Func known, reads{"reads"};
    // What is left of row `row` of S behind the chunk; undefined: all.
    Expr kept(const Expr &row, const Expr &head) const {
        return in.decay == Decay::none ? Expr() : before(in.of(row), s.rows - 1, head);
    }
    // All are of all heads, as each of the loops over values needs them.
    void schedule() {
        for (const auto &each : schedules) each();
    }

private:
    using Value = std::function<Expr(const Expr &row, const Expr &time)>; // of head n
    const MatrixState &s;
    const RecurrenceInputs &in;
    const int wide;         // lanes of keys
    int lanes = 1, columns; // of rows of the chunk, which are padded to whole vectors
    Func before{"before"}, after{"after"}, between{"between"};
    Var i{"i"}, t{"t"}, j{"j"}, n{"n"};
    std::vector<std::function<void()>> schedules;

    Expr key_head() const { return s.key_heads == s.heads ? Expr(n) : n / (s.heads / s.key_heads); }
    int decaying() const { return in.decay == Decay::key ? s.dk : 1; }
    Expr decay(const Expr &row, const Expr &time) const { return in.w(row, time, n); }

    void place(Func f, const Var &inner, int extent, int rows) {
        f.compute_root().bound(inner, 0, extent).bound(t, 0, rows).bound(n, 0, s.heads);
        store(f, int64_t{4} * extent * rows * s.heads);
    }
    // [dk, rows] of a head.
    void define(Func f, const Expr &value) {
        f(i, t, n) = value;
        schedules.push_back([this, f]() mutable {
            place(f, i, s.dk, s.rows);
            f.vectorize(i, wide);
        });
    }

    void decays() {
        RDom rt(1, s.rows - 1, "rt"), rb(1, s.rows - 1, "rb"), rd(0, s.rows, "rd");
        before(i, t, n) = undef<float>(); // from S to row t: all decays up to it
        before(i, 0, n) = decay(i, 0);
        before(i, rt, n) = before(i, rt - 1, n) * decay(i, rt);
        after(i, t, n) = undef<float>(); // from row t to the end: all decays behind it
        after(i, s.rows - 1, n) = 1.0f;
        after(i, s.rows - 1 - rb, n) = after(i, s.rows - rb, n) * decay(i, s.rows - rb);
        schedules.push_back([this, rt, rb] {
            const int of = decaying() == 1 ? 1 : wide;
            for (const auto &[f, r] : {std::pair{before, rt}, std::pair{after, rb}}) {
                place(f, i, decaying(), s.rows);
                Func(f).update(0).vectorize(i, of);
                Func(f).update(1).reorder(i, r.x, n).vectorize(i, of);
            }
        });
        if (in.decay != Decay::head) return;
        // What is left of row j at row t.
        between(j, t, n) = undef<float>();
        between(j, rd, n) = select(j == rd, 1.0f, j < rd, between(j, max(rd - 1, 0), n) * decay(0, rd), 0.0f);
        schedules.push_back([this, rd] {
            place(between, j, columns, s.rows);
            between.update().reorder(j, rd.x, n).vectorize(j, lanes);
        });
    }

    // Σ_i x(i, t) D y(i, j), with D the decays behind row j up to row t − `earlier`. For j > t − earlier it
    // is 0, or with `earlier` anything.
    Func products(const std::string &name, const Value &x, const Value &y, int earlier) {
        Func sum(name + "_sum"), masked(name);
        RDom ri(0, s.dk, "ri"), rd(0, s.rows, "rd");
        Var ji("ji"), jo("jo");
        sum(j, t, n) = 0.0f;
        if (in.decay == Decay::key) {
            // What is left of row j, for one row of S after the other.
            Func left(name + "_left");
            const Expr last = rd - earlier;
            left(j, t, i, n) = undef<float>();
            left(j, rd, i, n) = select(j == last, y(i, max(last, 0)), j < last,
                                       left(j, max(rd - 1, 0), i, n) * decay(i, max(last, 0)), 0.0f);
            sum(j, t, n) += x(ri, t) * left(j, t, ri, n);
            schedules.push_back([this, sum, left, ri, rd, ji, jo]() mutable {
                place(sum, j, columns, s.rows);
                sum.vectorize(j, lanes);
                sum.update().split(j, jo, ji, lanes).reorder(ji, t, ri.x, jo, n).vectorize(ji).unroll(t);
                left.compute_at(sum, ri.x).bound_extent(j, lanes).bound_extent(t, s.rows);
                left.update().reorder(j, rd.x).vectorize(j, lanes).unroll(rd.x);
                store(left, int64_t{4} * lanes * s.rows);
            });
            return sum;
        }
        Func transposed(name + "_transposed");
        Var to("to"), ti("ti");
        transposed(j, i, n) = y(i, min(j, s.rows - 1));
        sum(j, t, n) += transposed(j, ri, n) * x(ri, t);
        const Expr value =
            in.decay == Decay::none ? sum(j, t, n) : sum(j, t, n) * between(j, max(t - earlier, 0), n);
        // Halide would narrow the rows of `sum` to those that j < t lets through: solve() masks these.
        masked(j, t, n) = earlier ? value : select(j <= t, value, 0.0f);
        schedules.push_back([this, masked, sum, transposed, to, ti]() mutable {
            const int height = divisor_at_most(s.rows, std::max(1, 8 * lanes / columns));
            place(masked, j, columns, s.rows);
            masked.split(t, to, ti, height).reorder(j, ti, to, n).vectorize(j, lanes).unroll(j).unroll(ti);
            sum.compute_at(masked, to).bound_extent(j, columns).bound_extent(t, height);
            sum.vectorize(j, lanes).unroll(j).unroll(t);
            sum.update().vectorize(j, lanes).unroll(j).unroll(t);
            transposed.compute_at(masked, n)
                .bound_extent(j, columns)
                .bound_extent(i, s.dk)
                .vectorize(j, lanes);
            store(transposed, int64_t{4} * columns * s.dk);
        });
        return masked;
    }

    // With u_t = a_tᵀ S_{t−1}: (1 − L) u = M v + A S, where L and M are strictly lower triangular. Row after
    // row, known = (1 − L)⁻¹ M and reads = (1 − L)⁻¹ A.
    void solve(const Value &a, const Value &b, const Value &key) {
        const Func inner = products("inner", a, b, 1), given = products("given", a, key, 1);
        RDom over(0, s.rows, 0, s.rows, "over");
        over.where(over.x < over.y);
        known = Func("known");
        known(j, t, n) = select(j < t, given(j, t, n), 0.0f);
        known(j, over.y, n) += inner(over.x, over.y, n) * known(j, over.x, n);
        reads(i, t, n) =
            a(i, t) *
            (in.decay == Decay::none ? Expr(1.0f) : select(t == 0, 1.0f, before(in.of(i), max(t - 1, 0), n)));
        reads(i, over.y, n) += inner(over.x, over.y, n) * reads(i, over.x, n);
        schedules.push_back([this, over]() mutable {
            place(known, j, columns, s.rows);
            known.vectorize(j, lanes);
            known.update().reorder(j, over.x, over.y, n).vectorize(j, lanes);
            place(reads, i, s.dk, s.rows);
            reads.vectorize(i, wide);
            reads.update().reorder(i, over.x, over.y, n).vectorize(i, wide);
        });
    }
};

void build_recurrence_chunk(KernelBuilder &k, const contract::MatrixRecurrenceChunk &params) {
    MatrixState a(k, params);
    const RecurrenceInputs in(a, params);
    MatrixChunk chunk(k, a);

    // THE ALGORITHM
    RecurrenceWeights weights(a, in, k.target.vector_lanes);
    const auto of_head = [&](const Func &f) -> MatrixChunk::Weight {
        return [f, &a](const Expr &row, const Expr &time) { return f(row, time, a.head()); };
    };
    if (in.rank_one) {
        chunk.sum_values(Part::read, of_head(weights.known));
        chunk.add(Part::read, Part::high, of_head(weights.reads));
    }
    chunk.sum_values(Part::o, of_head(weights.score));
    if (in.rank_one) chunk.add(Part::o, Part::read, of_head(weights.score_of_read));
    chunk.add(Part::o, Part::high, of_head(weights.query));
    chunk.move(
        of_head(weights.share),
        [&](const Expr &row, const Expr &, const Expr &increment) -> std::vector<MatrixState::Written> {
            const Expr kept = weights.kept(row, a.head()), now = a.at(Part::high, row);
            return {{Part::high, (kept.defined() ? kept * now : now) + increment}};
        });
    if (in.rank_one) chunk.add_read(of_head(weights.share_of_read));

    // THE SCHEDULE
    weights.schedule();
    chunk.finish();
}

} // namespace

static const Kernel<contract::MatrixRecurrenceStep> matrix_recurrence_step{build_recurrence_step};
static const Kernel<contract::MatrixRecurrenceChunk> matrix_recurrence_chunk{build_recurrence_chunk};

} // namespace longwave::schedules
