// softmax_attention: o_t = Σ_τ softmax_τ(q_t·k_τ)·v_τ for each head, over a window of keys or over
// all of them.
//
// Keys come in blocks. Each block has a largest score and sums of its own. A query keeps its sums so
// far with the largest score so far, and takes in one block after the other (Milakov and Gimelshein
// 2018; Dao et al. 2022, FlashAttention). So scores and weights never leave the first cache, and no
// memory grows with the window. Of a whole sequence the blocks above the diagonal are left out.
//
// Many rows: a tile has queries of one head. Few rows: a tile has the queries of all heads that share
// keys. All tiles and heads of a call take in a block before the next one, so that its rows are read
// from memory once, and in order.
#include "schedules/attention/softmax_attention.h"
#include "schedules/halide/registry.h"
#include "schedules/pointwise/elementary.h"
#include <cmath>

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr double log2_of_e = 1.4426950408889634;
constexpr int longest_block = 128, longest_of_few = 256;
constexpr int fold = 8;                     // maxima and sums of a block are taken of so many keys first
constexpr int64_t most_of_states = 4 << 20; // bytes: what stays near while a block is read

// What a query keeps before its sums of values. The largest score is written last: the others need
// the one so far.
enum : int { share_so_far, share_of_block, total_so_far, peak_so_far, kept };

// Rows of a tile: two vectors, so that each key is read once for both.
int rows_of_tile(const targets::Target &target, int rows) {
    if (!attention_over_queries(static_cast<uint32_t>(rows))) return rows;
    int vec = target.vector_lanes;
    while (vec > rows) vec /= 2;
    return rows >= 2 * vec ? 2 * vec : vec;
}

int blocks_of(int keys, int longest) { return (keys + longest - 1) / longest; }

} // namespace

SoftmaxAttention::SoftmaxAttention(KernelBuilder &k, const contract::SoftmaxAttention &p)
    : k_(k), heads_(p.heads), key_heads_(p.key_heads.or_else(heads_)), shared_(heads_ / key_heads_),
      dk_(p.dk), dv_(p.dv), rows_(p.rows), window_(p.window), ring_(p.ring), relative_(p.relative),
      whole_(p.whole), present_(key_heads_ * (dk_ + dv_)) {
    const bool over_queries = attention_over_queries(extent(rows_));
    k.params.require(heads_ % key_heads_ == 0, "'key_heads' must divide 'heads'");
    k.params.require(!in_ring() || ring_ >= rows_ + window_ - 1, "'ring' must hold rows + window - 1 rows");
    k.params.require(!whole_ || (window_ >= ring_ && over_queries),
                     "'whole' needs a window as long as the ring, and 8 rows");
    k.params.require(window_ > 0 || !relative_, "'relative' needs a window");
    k.no_epilogue();
    kv_ = k.input(names_.kv, dense({physical(present_ + 1), ring_}));
    q_ = k.input(names_.q, dense({physical(heads_ * dk_), rows_}));
    if (relative_) {
        const int lags = window_ + 2 * attention_margin;
        r_ = k.weight(names_.r, over_queries ? dense({lags, dk_, heads_}) : dense({dk_, heads_, window_}));
        content_ = k.weight(names_.content_bias, dense({dk_, heads_}));
        position_bias_ = k.weight(names_.position_bias, dense({dk_, heads_}));
    }
    if (window_) position_ = k.scalar(names_.position, whole_ ? ring_ - 1 : ring_ - rows_);
    if (in_ring()) filled_ = k.scalar(names_.filled, ring_);
}

AttentionInBlocks::AttentionInBlocks(KernelBuilder &k, const contract::SoftmaxAttention &p)
    : SoftmaxAttention(k, p), few_(!attention_over_queries(extent(rows_))), group_(few_ ? shared_ : 1),
      tile_rows_(rows_of_tile(k.target, rows_)), queries_(group_ * tile_rows_),
      vec_(dividing_vector(queries_, k.target.vector_lanes)),
      over_queries_(!few_ || (vec_ >= 4 && !relative_)), wide_(dividing_vector(dv_, k.target.vector_lanes)),
      span_(in_ring() ? tile_rows_ + window_ - 1 : ring_),
      blocks_(blocks_of(span_, few_ ? longest_of_few : longest_block)),
      block_(blocks_of(blocks_of(span_, blocks_), fold) * fold), before_(blocks_ * block_ - span_),
      sums_(std::max<int>(kept, wide_)), looked_up_(block_ + (in_ring() ? rows_ - tile_rows_ : 0)),
      all_heads_(int64_t{4} * rows_ * heads_ * (sums_ + dv_) <= most_of_states),
      states_(int64_t{queries_} * blocks_of(rows_, tile_rows_) * (all_heads_ ? heads_ / group_ : 1) *
              (sums_ + dv_)) {
    k.params.require(4 * states_ <= int64_t{1} << 30, "'rows' times 'dv' is too large");
}

Expr AttentionInBlocks::key_row(const Expr &key) const {
    const Expr n = max(key, 0);
    return in_ring() ? wrapped(position_ + first_query(tile_) + n - (window_ - 1), ring_) : n;
}

template <class Of> void AttentionInBlocks::in_lanes(Of of) const {
    if (over_queries_) of.vectorize(b_, vec_);
    else of.vectorize(n_, std::min(fold, k_.target.vector_lanes));
}

void AttentionInBlocks::inside(Func f, int64_t floats, bool by_key) {
    f.compute_at(state_, tile_).bound_extent(b_, queries_);
    if (by_key && !over_queries_) f.reorder_storage(n_, b_, g_, h_, tile_);
    store(f, 4 * floats);
}

// Queries of a tile with a bias, scaled so that weights are powers of 2.
Func AttentionInBlocks::query(const std::string &name, const ImageParam &bias) const {
    Func f(name);
    const Expr x = q_(head(h_, b_) * dk_ + d_, first_query(tile_) + row_of(b_)),
               scale = Expr(static_cast<float>(log2_of_e / std::sqrt(static_cast<double>(dk_))));
    f(b_, d_, h_, tile_) = (bias.defined() ? x + bias(d_, head(h_, b_)) : x) * scale;
    return f;
}

// What is added to the score of a key: nothing, or as much as hides it. m_ counts the keys that any
// tile of the call sees.
void AttentionInBlocks::find_absent() {
    const Expr at = max(m_, 0), row = in_ring() ? wrapped(position_ + at - (window_ - 1), ring_) : at;
    absent_(m_) = select(m_ >= 0 && kv_(present_, row) > 0.5f, 0.0f, nothing);
}

// Of a block: its largest score, the weights of its keys below that one, and their sum. Largest ones
// and sums are taken of keys n mod fold first: none of them waits for the one before.
void AttentionInBlocks::weigh() {
    RDom all(0, block_ / fold, "all"), each(0, fold, "each");
    peaks_(b_, n_, g_, h_, tile_) = nothing;
    peaks_(b_, n_, g_, h_, tile_) =
        max(peaks_(b_, n_, g_, h_, tile_), score_(b_, all * fold + n_, g_, h_, tile_));
    peak_(b_, g_, h_, tile_) = nothing / 2; // above every hidden key
    peak_(b_, g_, h_, tile_) = max(peak_(b_, g_, h_, tile_), peaks_(b_, each, g_, h_, tile_));
    weight_(b_, n_, g_, h_, tile_) =
        small_power_of_two(score_(b_, n_, g_, h_, tile_) - peak_(b_, g_, h_, tile_));
    totals_(b_, n_, g_, h_, tile_) = 0.0f;
    totals_(b_, n_, g_, h_, tile_) += weight_(b_, all * fold + n_, g_, h_, tile_);
    total_(b_, g_, h_, tile_) = 0.0f;
    total_(b_, g_, h_, tile_) += totals_(b_, each, g_, h_, tile_);

    for (Func f : {score_, weight_}) {
        f.bound_extent(n_, block_);
        inside(f, int64_t{queries_} * block_, true);
    }
    if (!over_queries_)
        for (Func f : {weight_, peaks_, totals_}) f.reorder(n_, b_, g_, h_, tile_);
    in_lanes(weight_);
    for (Func f : {peaks_, totals_}) {
        in_lanes(f.bound_extent(n_, fold));
        in_lanes(over_queries_ ? f.update().reorder(b_, n_, all) : f.update().reorder(n_, b_, all));
        if (over_queries_ && queries_ <= 2 * vec_) f.update().unroll(b_).unroll(n_);
        inside(f, int64_t{queries_} * fold, true);
    }
    for (Func f : {peak_, total_}) {
        if (over_queries_) {
            f.vectorize(b_, vec_);
            f.update().reorder(b_, each).vectorize(b_, vec_);
        } else {
            f.update().reorder(each, b_).atomic().vectorize(each);
        }
        inside(f, queries_, false);
    }
}

// A register tile of queries by vectors of values, each read once for all of these queries.
void AttentionInBlocks::sum_values() {
    RDom in({{0, dv_}, {0, block_}}, "in");
    part_(d_, b_, g_, h_, tile_) = 0.0f;
    part_(sums_ + in.x, b_, g_, h_, tile_) +=
        weight_(b_, in.y, g_, h_, tile_) * kv_(values_of(key_head()) + in.x, key_row(key(in.y)));
    const int sums = k_.target.vector_registers == 32 ? 16 : 8, queries = divisor_at_most(queries_, sums / 2),
              of_tile = wide_ * divisor_at_most(dv_ / wide_, std::min(8, sums / queries));
    RVar dout("dout"), din("din");
    Var bout("bout"), bin("bin");
    part_.vectorize(d_, wide_).bound(d_, 0, sums_ + dv_);
    part_.update()
        .split(in.x, dout, din, of_tile)
        .split(b_, bout, bin, queries)
        .reorder(din, bin, in.y, bout, dout)
        .vectorize(din, wide_)
        .unroll(din)
        .unroll(bin);
    inside(part_, int64_t{queries_} * (sums_ + dv_), false);
}

// A query takes a block in: what it has so far and the block both count by the distance of their
// largest score from the larger one. A block alone is all that it has.
void AttentionInBlocks::join() {
    // With a whole sequence, the blocks that the call's last query can see. Of a ring, those with rows that
    // have been written: a block without one changes nothing. The last tile has the most of them.
    const Expr seen =
        whole_ ? min((position_ + rows_ + before_ + block_ - 1) / block_, blocks_) : Expr(blocks_);
    const Expr first =
        in_ring() && blocks_ > 1 ? clamp((span_ - filled_ + before_) / block_, 0, blocks_ - 1) : Expr(0);
    RDom k({{0, sums_ + dv_}, {0, queries_}, {first, seen - first}}, "k");
    state_(d_, b_, h_, tile_) = select(d_ == peak_so_far, nothing / 2, 0.0f);
    const auto so_far = [&](const Expr &at) { return state_(at, k.y, h_, tile_); };
    const Expr peak = peak_(k.y, k.z, h_, tile_), top = so_far(peak_so_far),
               less = small_power_of_two(-abs(top - peak)), of_top = select(top >= peak, 1.0f, less),
               of_peak = select(top >= peak, less, 1.0f);
    const Expr sum = part_(k.x, k.y, k.z, h_, tile_), total = total_(k.y, k.z, h_, tile_);
    const Expr joined =
        select(k.x >= sums_, so_far(k.x) * so_far(share_so_far) + sum * so_far(share_of_block),
               k.x == share_so_far, of_top, k.x == share_of_block, of_peak, k.x == total_so_far,
               so_far(total_so_far) * of_top + total * of_peak, max(top, peak));
    state_(k.x, k.y, h_, tile_) = blocks_ == 1 ? select(k.x >= sums_, sum, total) : joined;
    RVar dout("dout"), din("din");
    state_.vectorize(d_, wide_).bound(d_, 0, sums_ + dv_).bound_extent(b_, queries_);
    state_.update()
        .allow_race_conditions()
        .split(k.x, dout, din, wide_)
        .reorder(din, dout, k.y, tile_, h_, k.z)
        .vectorize(din);
    if (sums_ + dv_ <= 32 * wide_) state_.update().unroll(dout);
    // Looked up once for all tiles and heads.
    absent_.compute_at(state_, k.z).bound_extent(m_, looked_up_);
    store(absent_, int64_t{4} * looked_up_);
}

// Averages are what a query has in the end.
void AttentionInBlocks::write() {
    const int width = heads_ * dv_, padded = physical(width), tiles = blocks_of(rows_, tile_rows_);
    Var c("c"), row("row");
    RDom r({{0, dv_}, {0, queries_}, {0, tiles}, {0, heads_ / group_}}, "r"),
        behind(width, std::max(1, padded - width), "behind");
    Func y("y");
    y(c, row) = undef<float>();
    y(head(r[3], r[1]) * dv_ + r[0], first_query(r[2]) + row_of(r[1])) =
        state_(sums_ + r[0], r[1], r[3], r[2]) / max(state_(total_so_far, r[1], r[3], r[2]), 1e-30f);
    y.update().allow_race_conditions().reorder(r[0], r[1], r[2], r[3]).vectorize(r[0], wide_);
    if (padded > width) y(behind, row) = 0.0f;

    const auto place = [&](Func f, int64_t floats) {
        if (all_heads_) f.compute_root();
        else f.compute_at(y, r[3]);
        store(f, 4 * floats);
    };
    place(state_, states_);
    for (Func f : queries_of_tiles_) {
        f.bound_extent(b_, queries_).bound_extent(d_, dk_);
        if (over_queries_) f.vectorize(b_, vec_);
        else
            f.reorder_storage(d_, b_, h_, tile_)
                .reorder(d_, b_, h_, tile_)
                .vectorize(d_, dividing_vector(dk_, k_.target.vector_lanes));
        place(f, states_ / (sums_ + dv_) * dk_);
    }
    k_.output(y, names_.y, dense({padded, rows_}));
}

void AttentionInBlocks::build() {
    const Func content = query("query", content_),
               positional = relative_ ? query("positional", position_bias_) : Func();
    queries_of_tiles_ = {content};
    if (relative_) queries_of_tiles_.push_back(positional);
    find_absent();
    score(content, positional);
    weigh();
    sum_values();
    join();
    write();
}

namespace {

void softmax_attention_on_cpu(KernelBuilder &k, const contract::SoftmaxAttention &p) {
    AttentionInBlocks(k, p).build();
}

} // namespace

static const Kernel<contract::SoftmaxAttention> softmax_attention{softmax_attention_on_cpu};

} // namespace longwave::schedules
