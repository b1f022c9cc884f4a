// softmax_attention: o_t = Σ_τ softmax_τ(q_t·k_τ)·v_τ for each head, over a window of keys or over
// all of them. Here one query at a time, with lanes over its features: for few rows.
// softmax_attention_queries.cc has tiles of queries.
#include "schedules/attention/softmax_attention.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// Of a tile where lanes are queries: two vectors, so that each key is read once for both.
int queries_of(const targets::Target &target, int rows) {
    if (!attention_over_queries(static_cast<uint32_t>(rows))) return 1;
    int vec = target.vector_lanes;
    while (vec > rows) vec /= 2;
    return rows >= 2 * vec ? 2 * vec : vec;
}

} // namespace

SoftmaxAttention::SoftmaxAttention(KernelBuilder &k, const contract::SoftmaxAttention &p)
    : k_(k), heads_(p.heads), key_heads_(p.key_heads.or_else(heads_)), dk_(p.dk), dv_(p.dv), rows_(p.rows),
      window_(p.window), ring_(p.ring), relative_(p.relative), whole_(p.whole),
      queries_(queries_of(k.target, rows_)), span_(in_ring() ? queries_ + window_ - 1 : ring_),
      present_(key_heads_ * (dk_ + dv_)) {
    k.params.require(heads_ % key_heads_ == 0, "'key_heads' must divide 'heads'");
    k.params.require(!in_ring() || ring_ >= rows_ + window_ - 1, "'ring' must hold rows + window - 1 rows");
    k.params.require(!whole_ || (window_ >= ring_ && queries_ > 1),
                     "'whole' needs a window as long as the ring, and 8 rows");
    k.params.require(window_ > 0 || !relative_, "'relative' needs a window");
    k.params.require(int64_t{4} * queries_ * span_ <= int64_t{1} << 30, "'window' is too large");
    k.no_epilogue();
    kv_ = k.input(names_.kv, dense({physical(present_ + 1), ring_}));
    q_ = k.input(names_.q, dense({physical(heads_ * dk_), rows_}));
    if (relative_) {
        const int lags = window_ + 2 * attention_margin;
        r_ = k.weight(names_.r, queries_ > 1 ? dense({lags, dk_, heads_}) : dense({dk_, heads_, window_}));
        content_ = k.weight(names_.content_bias, dense({dk_, heads_}));
        position_bias_ = k.weight(names_.position_bias, dense({dk_, heads_}));
    }
    if (window_) position_ = k.scalar(names_.position, whole_ ? ring_ - 1 : ring_ - rows_);
}

Func SoftmaxAttention::query(const std::string &name, const ImageParam &bias) const {
    Func f(name);
    const Expr x = q_(h_ * dk_ + d_, first_query(tile_) + b_),
               scale = Expr(1.0f / std::sqrt(static_cast<float>(dk_)));
    f(b_, d_, h_, tile_) = (bias.defined() ? x + bias(d_, h_) : x) * scale;
    f.bound_extent(b_, queries_).bound_extent(d_, dk_);
    store(f, int64_t{4} * queries_ * dk_);
    return f;
}

void SoftmaxAttention::write(Func z) {
    const int width = heads_ * dv_, padded = physical(width);
    Var c("c"), row("row");
    RDom r({{0, dv_}, {0, queries_}, {0, (rows_ + queries_ - 1) / queries_}, {0, heads_}}, "r"),
        behind(width, std::max(1, padded - width), "behind");
    Func y("y");
    y(c, row) = undef<float>();
    y(r[3] * dv_ + r[0], first_query(r[2]) + r[1]) = z(r[0], r[1], r[3], r[2]);
    y.update()
        .allow_race_conditions()
        .reorder(r[0], r[1], r[2], r[3])
        .vectorize(r[0], dividing_vector(dv_, k_.target.vector_lanes));
    if (padded > width) y(behind, row) = 0.0f;
    z.compute_at(y, r[2]).bound_extent(b_, queries_).bound_extent(d_, dv_);
    store(z, int64_t{4} * queries_ * dv_);
    k_.output(y, names_.y, dense({padded, rows_}));
}

namespace {

class AttentionOverFeatures : SoftmaxAttention {
public:
    AttentionOverFeatures(KernelBuilder &k, const contract::SoftmaxAttention &p)
        : SoftmaxAttention(k, p), vec_(dividing_vector(dk_, k.target.vector_lanes)),
          padded_((span_ + 7) / 8 * 8), chunk_(std::min(padded_, 256)) {}

    void build() {
        weigh();
        average();
        write(z_);
    }

private:
    Expr row(const Expr &n) const { return key_row(min(n, span_ - 1), tile_); }
    void scores(const Func &content, const Func &positional);
    void weigh();
    void average();

    const int vec_, padded_, chunk_;
    Var l_{"l"}, outer_{"outer"}, inner_{"inner"};
    Func dot_{"dot"}, score_{"score"}, peaks_{"peaks"}, peak_{"peak"}, weight_{"weight"}, totals_{"totals"},
        total_{"total"}, part_{"part"}, sum_{"sum"}, z_{"z"};
};

// Each score is a sum across the lanes.
void AttentionOverFeatures::scores(const Func &content, const Func &positional) {
    RDom i(0, dk_ / vec_, "i"), lane(0, vec_, "lane");
    Func part("part");
    const Expr at = i * vec_ + l_;
    part(l_, n_, h_, tile_) = 0.0f;
    Expr product = content(0, at, h_, tile_) * kv_(keys_of(h_) + at, row(n_));
    if (relative_)
        product += positional(0, at, h_, tile_) * r_(at, h_, max((window_ - 1) - min(n_, span_ - 1), 0));
    part(l_, n_, h_, tile_) += product;
    dot_(b_, n_, h_, tile_) = 0.0f;
    dot_(b_, n_, h_, tile_) += part(lane, n_, h_, tile_);
    const Expr there = kv_(present_, row(n_)) > 0.5f && n_ < span_;
    score_(b_, n_, h_, tile_) = select(there, dot_(b_, n_, h_, tile_), nothing);
    score_.split(n_, outer_, inner_, 8).unroll(inner_);
    dot_.compute_at(score_, outer_).bound_extent(n_, 8).unroll(n_);
    dot_.update().reorder(lane, b_, n_).atomic().vectorize(lane).unroll(n_);
    part.compute_at(score_, outer_).bound_extent(l_, vec_).bound_extent(n_, 8).vectorize(l_).unroll(n_);
    part.update().reorder(l_, n_, i).vectorize(l_).unroll(n_);
}

// Weights before they are divided by their sum: scores, the largest of them taken out. Largest ones
// and sums are taken of keys n mod 8 first, so that they have lanes as well.
void AttentionOverFeatures::weigh() {
    Func content = query("query", content_),
         positional = relative_ ? query("positional", position_bias_) : Func();
    for (Func f : {content, positional})
        if (f.defined()) f.compute_at(z_, h_).vectorize(d_, vec_);
    scores(content, positional);
    RDom all(0, padded_ / 8, "all"), eight(0, 8, "eight");
    peaks_(b_, n_, h_, tile_) = nothing;
    peaks_(b_, n_, h_, tile_) = max(peaks_(b_, n_, h_, tile_), score_(b_, all * 8 + n_, h_, tile_));
    peak_(b_, h_, tile_) = nothing;
    peak_(b_, h_, tile_) = max(peak_(b_, h_, tile_), peaks_(b_, eight, h_, tile_));
    const Expr score = score_(b_, n_, h_, tile_);
    weight_(b_, n_, h_, tile_) = select(score > nothing / 2, exp(score - peak_(b_, h_, tile_)), 0.0f);
    totals_(b_, n_, h_, tile_) = 0.0f;
    totals_(b_, n_, h_, tile_) += weight_(b_, all * 8 + n_, h_, tile_);
    total_(b_, h_, tile_) = 0.0f;
    total_(b_, h_, tile_) += totals_(b_, eight, h_, tile_);

    for (Func f : {score_, weight_}) {
        f.compute_at(z_, h_).bound_extent(b_, 1).bound_extent(n_, padded_);
        store(f, int64_t{4} * padded_);
    }
    const int vec = std::min(8, k_.target.vector_lanes);
    weight_.vectorize(n_, vec);
    for (Func f : {peaks_, totals_}) {
        f.compute_at(z_, h_).bound_extent(b_, 1).bound_extent(n_, 8).vectorize(n_, vec);
        f.update().reorder(b_, n_, all).vectorize(n_, vec).unroll(b_).unroll(n_);
    }
    for (Func f : {peak_, total_}) f.compute_at(z_, h_).bound_extent(b_, 1);
}

// In sums of a chunk of keys each: float32 keeps its accuracy over a long window.
void AttentionOverFeatures::average() {
    RDom in(0, chunk_, "in"), chunks(0, (padded_ + chunk_ - 1) / chunk_, "chunks");
    const Expr key = g_ * chunk_ + in, inside = min(key, padded_ - 1), w = weight_(b_, inside, h_, tile_);
    part_(b_, d_, g_, h_, tile_) = 0.0f;
    part_(b_, d_, g_, h_, tile_) +=
        (padded_ % chunk_ ? select(key < padded_, w, 0.0f) : w) * kv_(values_of(h_) + d_, row(inside));
    sum_(b_, d_, h_, tile_) = 0.0f;
    sum_(b_, d_, h_, tile_) += part_(b_, d_, chunks, h_, tile_);
    z_(d_, b_, h_, tile_) = sum_(b_, d_, h_, tile_) / max(total_(b_, h_, tile_), 1e-30f);

    Var dout("dout"), din("din");
    const int vec = dividing_vector(dv_, k_.target.vector_lanes), block = vec * divisor_at_most(dv_ / vec, 8);
    z_.split(d_, dout, din, block).reorder(b_, din, dout, h_).vectorize(din, vec).unroll(b_).unroll(din);
    sum_.compute_at(z_, dout).bound_extent(b_, 1).bound_extent(d_, block);
    sum_.vectorize(d_, vec).unroll(b_).unroll(d_);
    sum_.update().reorder(b_, d_, chunks).vectorize(d_, vec).unroll(b_).unroll(d_);
    part_.compute_at(sum_, chunks).bound_extent(b_, 1).bound_extent(d_, block);
    part_.vectorize(d_, vec).unroll(b_).unroll(d_);
    part_.update().reorder(b_, d_, in).vectorize(d_, vec).unroll(b_).unroll(d_);
}

void build_softmax_attention(KernelBuilder &k, const contract::SoftmaxAttention &p) {
    if (attention_over_queries(static_cast<uint32_t>(int{p.rows}))) AttentionOverQueries(k, p).build();
    else AttentionOverFeatures(k, p).build();
}

} // namespace

static const Kernel<contract::SoftmaxAttention> softmax_attention{build_softmax_attention};

} // namespace longwave::schedules
