// Scores of softmax_attention: queries of a tile times keys of a block, in one of two forms. Lanes are
// queries: each key is read once for all of them, as a scalar. Or lanes are features, where there are too
// few queries: each score is a sum across the lanes.
#include "schedules/attention/softmax_attention.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int most_keys = 8; // of a register tile

} // namespace

void AttentionInBlocks::score(const Func &content, const Func &positional) {
    if (over_queries_) score_over_queries(content, positional);
    else score_over_features(content, positional);

    const Expr n = key(n_), age = age_of(row_of(b_), n),
               counted = in_ring() ? first_query(tile_) + n : n; // by absent_
    // One row sees all keys of its window.
    const bool ages = window_ && (whole_ || rows_ > 1);
    // A key of a later row has a negative age, which is a large one without its sign.
    const Expr absent = absent_(counted), seen = cast<uint32_t>(age) < cast<uint32_t>(window_);
    score_(b_, n_, g_, h_, tile_) =
        dot_(b_, n_, g_, h_, tile_) + (ages ? select(seen, absent, nothing) : absent);

    Var outer("outer"), inner("inner"), several("several"), one("one");
    const int vectors = over_queries_ ? divisor_at_most(queries_ / vec_, 2) : 1,
              keys = k_.target.vector_registers == 32 ? most_keys : most_keys / vectors;
    score_.split(n_, outer, inner, keys, TailStrategy::RoundUp);
    if (over_queries_) {
        score_.split(b_, several, one, vectors * vec_, TailStrategy::RoundUp)
            .reorder(one, inner, several, outer);
        score_.vectorize(one, vec_).unroll(one).unroll(inner);
        dot_.compute_at(score_, several).bound_extent(b_, vectors * vec_).bound_extent(n_, keys);
        dot_.vectorize(b_, vec_).unroll(b_).unroll(n_);
    } else {
        score_.reorder(inner, b_, outer).unroll(inner);
        dot_.compute_at(score_, b_).bound_extent(b_, 1).bound_extent(n_, keys).unroll(n_);
    }
}

// A register tile of 8 keys by one or two vectors of queries; half the keys where two need all registers.
void AttentionInBlocks::score_over_queries(const Func &content, const Func &positional) {
    RDom d(0, dk_, "d");
    const Expr n = key(n_);
    dot_(b_, n_, g_, h_, tile_) = 0.0f;
    dot_(b_, n_, g_, h_, tile_) += content(b_, d, h_, tile_) * kv_(keys_of(key_head()) + d, key_row(n));
    if (relative_) {
        const Expr first = clamp(age_of(0, n), -attention_margin, window_);
        dot_(b_, n_, g_, h_, tile_) +=
            positional(b_, d, h_, tile_) * r_(first + b_ + attention_margin, d, head(h_, 0));
    }
    for (int update = 0; update < (relative_ ? 2 : 1); update++)
        dot_.update(update).reorder(b_, n_, d).vectorize(b_, vec_).unroll(b_).unroll(n_);
}

void AttentionInBlocks::score_over_features(const Func &content, const Func &positional) {
    const int vec = dividing_vector(dk_, k_.target.vector_lanes);
    RDom i(0, dk_ / vec, "i"), lane(0, vec, "lane");
    Var l("l");
    Func part("part_of_score");
    const Expr at = i * vec + l, n = key(n_);
    part(l, b_, n_, g_, h_, tile_) = 0.0f;
    Expr product = content(b_, at, h_, tile_) * kv_(keys_of(key_head()) + at, key_row(n));
    if (relative_)
        product += positional(b_, at, h_, tile_) *
                   r_(at, head(h_, b_), clamp(age_of(row_of(b_), n), 0, window_ - 1));
    part(l, b_, n_, g_, h_, tile_) += product;
    dot_(b_, n_, g_, h_, tile_) = 0.0f;
    dot_(b_, n_, g_, h_, tile_) += part(lane, b_, n_, g_, h_, tile_);

    dot_.update().reorder(lane, b_, n_).atomic().vectorize(lane).unroll(n_);
    part.compute_at(score_, b_).bound_extent(l, vec).bound_extent(b_, 1).bound_extent(n_, most_keys);
    part.vectorize(l).unroll(n_);
    part.update().reorder(l, n_, i).vectorize(l).unroll(n_);
    if (dk_ <= 8 * vec) part.update().unroll(i); // else the address of each key is computed at each step
}

} // namespace longwave::schedules
