// softmax_attention of many rows: lanes are queries, two vectors of them in a tile.
//
// Keys are taken in chunks, each with a largest score and a sum of its own, so that scores and
// weights never leave the first cache; the chunks are joined at the end (as in Dao et al. 2022,
// FlashAttention, whose running maximum becomes one after the fact). Of a whole sequence the chunks
// above the diagonal are left out.
#include "schedules/attention/softmax_attention.h"

#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int longest_chunk = 128;

} // namespace

AttentionOverQueries::AttentionOverQueries(KernelBuilder &k, const contract::SoftmaxAttention &p)
    : SoftmaxAttention(k, p), vec_(std::min(k.target.vector_lanes, queries_)),
      wide_(dividing_vector(dv_, k.target.vector_lanes)),
      chunks_((span_ + longest_chunk - 1) / longest_chunk),
      chunk_(((span_ + chunks_ - 1) / chunks_ + 7) / 8 * 8), before_(chunks_ * chunk_ - span_),
      kept_width_(dv_ + std::max(wide_, 2)) {
    k.params.require(int64_t{4} * queries_ * chunks_ * kept_width_ <= int64_t{1} << 30,
                     "'window' is too large");
}

// A register tile of 8 keys: each key is read once for all queries, as a scalar.
Func AttentionOverQueries::scores(const Func &content, const Func &positional) {
    const Expr there = kv_(present_, key_row(max(n_ - before_, 0), tile_)) > 0.5f;
    unseen_(n_, tile_) = select(n_ >= before_ && there, 0.0f, nothing);
    unseen_.compute_root().bound_extent(n_, chunks_ * chunk_);
    store(unseen_, int64_t{4} * chunks_ * chunk_ * ((rows_ + queries_ - 1) / queries_));

    RDom d(0, dk_, "d");
    const Expr n = g_ * chunk_ + n_ - before_, row = key_row(max(n, 0), tile_);
    dot_(b_, n_, g_, h_, tile_) = 0.0f;
    dot_(b_, n_, g_, h_, tile_) += content(b_, d, h_, tile_) * kv_(keys_of(h_) + d, row);
    if (relative_) {
        const Expr first = clamp(lag(0, n, tile_), -attention_margin, window_);
        dot_(b_, n_, g_, h_, tile_) +=
            positional(b_, d, h_, tile_) * r_(first + b_ + attention_margin, d, h_);
    }
    const Expr dot = dot_(b_, n_, g_, h_, tile_), age = lag(b_, n, tile_);
    score_(b_, n_, g_, h_, tile_) =
        (window_ ? select(age >= 0 && age < window_, dot, nothing) : dot) + unseen_(g_ * chunk_ + n_, tile_);
    Var outer("outer"), inner("inner");
    score_.split(n_, outer, inner, 8).reorder(b_, inner, outer).vectorize(b_, vec_).unroll(b_).unroll(inner);
    dot_.compute_at(score_, outer).bound_extent(b_, queries_).bound_extent(n_, 8);
    dot_.vectorize(b_, vec_).unroll(b_).unroll(n_);
    for (int update = 0; update < (relative_ ? 2 : 1); update++)
        dot_.update(update).reorder(b_, n_, d).vectorize(b_, vec_).unroll(b_).unroll(n_);
    return score_;
}

// Of a chunk: its largest score, the weights of its keys below that one, and their sum. Largest
// ones and sums are taken of keys n mod 8 first: none of them waits for the one before.
void AttentionOverQueries::weigh(const Func &score) {
    RDom all(0, chunk_ / 8, "all"), eight(0, 8, "eight");
    peaks_(b_, n_, g_, h_, tile_) = nothing;
    peaks_(b_, n_, g_, h_, tile_) =
        max(peaks_(b_, n_, g_, h_, tile_), score(b_, all * 8 + n_, g_, h_, tile_));
    peak_(b_, g_, h_, tile_) = nothing;
    peak_(b_, g_, h_, tile_) = max(peak_(b_, g_, h_, tile_), peaks_(b_, eight, g_, h_, tile_));
    const Expr s = score(b_, n_, g_, h_, tile_);
    weight_(b_, n_, g_, h_, tile_) = select(s > nothing / 2, exp(s - peak_(b_, g_, h_, tile_)), 0.0f);
    totals_(b_, n_, g_, h_, tile_) = 0.0f;
    totals_(b_, n_, g_, h_, tile_) += weight_(b_, all * 8 + n_, g_, h_, tile_);
    total_(b_, g_, h_, tile_) = 0.0f;
    total_(b_, g_, h_, tile_) += totals_(b_, eight, g_, h_, tile_);
    for (Func f : {peaks_, totals_}) {
        f.bound_extent(n_, 8).vectorize(b_, vec_);
        f.update().reorder(b_, n_, all).vectorize(b_, vec_).unroll(b_).unroll(n_);
        store(f, int64_t{4} * queries_ * 8);
    }
    for (Func f : {peak_, total_}) {
        f.vectorize(b_, vec_);
        f.update().reorder(b_, eight).vectorize(b_, vec_);
    }
}

// A register tile of queries by two vectors of values, each read once for all of these queries.
void AttentionOverQueries::sum_values() {
    RDom in({{0, dv_}, {0, chunk_}}, "in");
    const Expr row = key_row(max(g_ * chunk_ + in.y - before_, 0), tile_);
    part_(d_, b_, g_, h_, tile_) = 0.0f;
    part_(in.x, b_, g_, h_, tile_) += weight_(b_, in.y, g_, h_, tile_) * kv_(values_of(h_) + in.x, row);
    const int of_tile = wide_ * divisor_at_most(dv_ / wide_, 2),
              queries = divisor_at_most(queries_, k_.target.vector_registers == 32 ? 8 : 4);
    RVar dout("dout"), din("din");
    Var bout("bout"), bin("bin");
    part_.vectorize(d_, wide_);
    part_.update()
        .split(in.x, dout, din, of_tile)
        .split(b_, bout, bin, queries)
        .reorder(din, bin, in.y, bout, dout)
        .vectorize(din, wide_)
        .unroll(din)
        .unroll(bin);
    part_.bound_extent(d_, kept_width_);
    store(part_, int64_t{4} * queries_ * kept_width_);
}

// What is left of a chunk: for each query its sums of values, of weights, and its largest score.
void AttentionOverQueries::keep() {
    // With a whole sequence, the chunks that the call's last query can see.
    const Expr seen =
        whole_ ? min((position_ + rows_ + before_ + chunk_ - 1) / chunk_, chunks_) : Expr(chunks_);
    RDom k({{0, kept_width_}, {0, queries_}, {0, seen}}, "k");
    kept_(d_, b_, g_, h_, tile_) = select(d_ > dv_, nothing, 0.0f);
    kept_(k.x, k.y, k.z, h_, tile_) = select(k.x < dv_, part_(k.x, k.y, k.z, h_, tile_), k.x == dv_,
                                             total_(k.y, k.z, h_, tile_), peak_(k.y, k.z, h_, tile_));
    for (Func f : {score_, weight_}) {
        f.bound_extent(n_, chunk_);
        store(f, int64_t{4} * queries_ * chunk_);
    }
    weight_.vectorize(b_, vec_);
    kept_.vectorize(d_, wide_);
    kept_.update().reorder(k.x, k.y, k.z).vectorize(k.x, wide_);
    for (Func f : {score_, weight_, peaks_, peak_, totals_, total_, part_})
        f.compute_at(kept_, k.z).bound_extent(b_, queries_);
}

// The chunks joined, each with a share by its largest score.
Func AttentionOverQueries::average() {
    RDom of(0, chunks_, "of");
    top_(b_, h_, tile_) = nothing;
    top_(b_, h_, tile_) = max(top_(b_, h_, tile_), kept_(dv_ + 1, b_, of, h_, tile_));
    share_(b_, g_, h_, tile_) = exp(kept_(dv_ + 1, b_, g_, h_, tile_) - top_(b_, h_, tile_));
    sum_(d_, b_, h_, tile_) = 0.0f;
    sum_(d_, b_, h_, tile_) += share_(b_, of, h_, tile_) * kept_(d_, b_, of, h_, tile_);
    z_(d_, b_, h_, tile_) = sum_(d_, b_, h_, tile_) / max(sum_(dv_, b_, h_, tile_), 1e-30f);

    z_.reorder(d_, b_, h_).vectorize(d_, wide_);
    for (Func f : {kept_, top_, share_, sum_}) f.compute_at(z_, h_).bound_extent(b_, queries_);
    kept_.bound_extent(d_, kept_width_).bound_extent(g_, chunks_);
    share_.bound_extent(g_, chunks_).vectorize(b_, vec_);
    sum_.bound_extent(d_, kept_width_).vectorize(d_, wide_);
    sum_.update().reorder(d_, b_, of).vectorize(d_, wide_);
    top_.vectorize(b_, vec_);
    top_.update().reorder(b_, of).vectorize(b_, vec_);
    store(kept_, int64_t{4} * queries_ * kept_width_ * chunks_);
    store(sum_, int64_t{4} * queries_ * kept_width_);
    store(share_, int64_t{4} * queries_ * chunks_);
    return z_;
}

void AttentionOverQueries::build() {
    const Func content = query("query", content_),
               positional = relative_ ? query("positional", position_bias_) : Func();
    for (Func f : {content, positional})
        if (f.defined()) f.compute_at(z_, h_).vectorize(b_, vec_);
    weigh(scores(content, positional));
    sum_values();
    keep();
    write(average());
}

} // namespace longwave::schedules
