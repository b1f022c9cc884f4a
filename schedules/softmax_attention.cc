// softmax_attention: o_t = Σ_τ softmax_τ(q_t·k_τ)·v_τ for each head, over a window of keys or over all of them.
//
// Scores exist for one tile of queries and one head at a time, never as a matrix of all rows by all rows: what
// a tile needs is a small part of the keys and values that it walks over.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr float nothing = -1e30f; // the score of a key that is not there

class SoftmaxAttention {
public:
    explicit SoftmaxAttention(KernelBuilder &k)
        : k_(k), heads_(k.params.integer("heads", 1, 1 << 12)), dk_(k.params.integer("dk", 1, 1 << 12)),
          dv_(k.params.integer("dv", 1, 1 << 12)), rows_(k.params.integer("rows", 1, 1 << 20)),
          window_(k.params.integer("window", 0, 1 << 24)), ring_(k.params.integer("ring", 1, 1 << 24)),
          relative_(k.params.integer_or("relative", 0, 0, 1) == 1),
          over_queries_(attention_over_queries(static_cast<uint32_t>(rows_))),
          vec_(over_queries_ ? dividing_vector(rows_, k.target.vector_lanes)
                             : dividing_vector(dk_, k.target.vector_lanes)),
          queries_(over_queries_ ? vec_ * (rows_ / vec_ % 2 ? 1 : 2) : 1),
          span_(window_ ? queries_ + window_ - 1 : ring_), padded_((span_ + 7) / 8 * 8),
          chunk_(std::min(padded_, 256)) {
        const int key_row = heads_ * (dk_ + dv_) + 1;
        k.params.require(window_ == 0 || ring_ >= rows_ + window_ - 1,
                         "'ring' must hold rows + window - 1 rows");
        k.params.require(window_ > 0 || !relative_, "'relative' needs a window");
        k.params.require(int64_t{4} * queries_ * padded_ <= int64_t{1} << 30, "'window' is too large");
        k.no_epilogue();
        kv_ = k.input("kv", dense({physical(key_row), ring_}));
        q_ = k.input("q", dense({physical(heads_ * dk_), rows_}));
        if (relative_) {
            const int lags = window_ + 2 * attention_margin;
            r_ = k.weight("r", over_queries_ ? dense({lags, dk_, heads_}) : dense({dk_, heads_, window_}));
            content_ = k.weight("content_bias", dense({dk_, heads_}));
            position_bias_ = k.weight("position_bias", dense({dk_, heads_}));
        }
        if (window_) position_ = k.scalar("position", ring_ - rows_);
        present_ = heads_ * (dk_ + dv_);
    }

    void build();

private:
    static int physical(int width) { return static_cast<int>(pad(extent(width))); }
    // Where the n-th key row that a tile sees lies, and how old it is for a query of the tile.
    Expr key_row(const Expr &n) const {
        const Expr inside = min(n, span_ - 1);
        return window_ ? wrapped(position_ + tile_ * queries_ + inside - (window_ - 1), ring_) : inside;
    }
    Expr lag(const Expr &n) const { return b_ + (window_ - 1) - n; }
    Expr there(const Expr &n) const {
        const Expr flag = kv_(present_, key_row(n)) > 0.5f;
        return window_ ? flag && lag(n) >= 0 && lag(n) < window_ : flag && n < span_;
    }
    Func query(const std::string &name, const ImageParam &bias);
    void scores_over_queries(const Func &query, const Func &turned);
    void scores_over_features(const Func &query, const Func &turned);
    void weigh();
    void average();

    KernelBuilder &k_;
    const int heads_, dk_, dv_, rows_, window_, ring_;
    const bool relative_, over_queries_;
    const int vec_, queries_, span_, padded_, chunk_;
    int present_ = 0;
    ImageParam kv_, q_, r_, content_, position_bias_;
    Expr position_;
    Var b_{"b"}, d_{"d"}, n_{"n"}, h_{"h"}, l_{"l"}, c_{"c"}, r_row_{"r"}, tile_{"tile"}, g_{"g"};
    Var outer_{"outer"}, inner_{"inner"};
    Func dot_{"dot"}, score_{"score"}, peaks_{"peaks"}, peak_{"peak"}, weight_{"weight"}, totals_{"totals"},
        total_{"total"}, part_{"part"}, sum_{"sum"}, z_{"z"}, y_{"y"};
};

// Queries of a tile with a bias, scaled; lanes over queries want them side by side.
Func SoftmaxAttention::query(const std::string &name, const ImageParam &bias) {
    Func f(name);
    const Expr x = q_(h_ * dk_ + d_, tile_ * queries_ + b_),
               scale = Expr(1.0f / std::sqrt(static_cast<float>(dk_)));
    f(b_, d_, h_, tile_) = (bias.defined() ? x + bias(d_, h_) : x) * scale;
    f.compute_at(z_, h_).bound_extent(b_, queries_).bound_extent(d_, dk_);
    if (over_queries_) f.vectorize(b_, vec_);
    else f.vectorize(d_, vec_);
    store(f, int64_t{4} * queries_ * dk_);
    return f;
}

// A register tile of 8 keys: each key is read once for all queries, as a scalar.
void SoftmaxAttention::scores_over_queries(const Func &query, const Func &turned) {
    RDom d(0, dk_, "d");
    dot_(b_, n_, h_, tile_) = 0.0f;
    dot_(b_, n_, h_, tile_) += query(b_, d, h_, tile_) * kv_(h_ * dk_ + d, key_row(n_));
    if (relative_) {
        const Expr first = max((window_ - 1) - n_, -attention_margin);
        dot_(b_, n_, h_, tile_) += turned(b_, d, h_, tile_) * r_(first + b_ + attention_margin, d, h_);
    }
    score_(b_, n_, h_, tile_) = select(there(n_), dot_(b_, n_, h_, tile_), nothing);
    score_.split(n_, outer_, inner_, 8)
        .reorder(b_, inner_, outer_)
        .vectorize(b_, vec_)
        .unroll(b_)
        .unroll(inner_);
    dot_.compute_at(score_, outer_).bound_extent(b_, queries_).bound_extent(n_, 8);
    dot_.vectorize(b_, vec_).unroll(b_).unroll(n_);
    for (int update = 0; update < (relative_ ? 2 : 1); update++)
        dot_.update(update).reorder(b_, n_, d).vectorize(b_, vec_).unroll(b_).unroll(n_);
}

// One query: lanes are its features, and each score is a sum across them.
void SoftmaxAttention::scores_over_features(const Func &query, const Func &turned) {
    RDom i(0, dk_ / vec_, "i"), lane(0, vec_, "lane");
    Func part("part");
    const Expr at = i * vec_ + l_;
    part(l_, n_, h_, tile_) = 0.0f;
    Expr product = query(0, at, h_, tile_) * kv_(h_ * dk_ + at, key_row(n_));
    if (relative_)
        product += turned(0, at, h_, tile_) * r_(at, h_, max((window_ - 1) - min(n_, span_ - 1), 0));
    part(l_, n_, h_, tile_) += product;
    dot_(b_, n_, h_, tile_) = 0.0f;
    dot_(b_, n_, h_, tile_) += part(lane, n_, h_, tile_);
    score_(b_, n_, h_, tile_) = select(there(n_), dot_(b_, n_, h_, tile_), nothing);
    score_.split(n_, outer_, inner_, 8).unroll(inner_);
    dot_.compute_at(score_, outer_).bound_extent(n_, 8).unroll(n_);
    dot_.update().reorder(lane, b_, n_).atomic().vectorize(lane).unroll(n_);
    part.compute_at(score_, outer_).bound_extent(l_, vec_).bound_extent(n_, 8).vectorize(l_).unroll(n_);
    part.update().reorder(l_, n_, i).vectorize(l_).unroll(n_);
}

// Weights before they are divided by their sum: scores, the largest of them taken out. Largest ones and sums
// are taken of keys n mod 8 first, so that one query has lanes as well.
void SoftmaxAttention::weigh() {
    const Func content = query("query", content_),
               turned = relative_ ? query("turned", position_bias_) : Func();
    if (over_queries_) scores_over_queries(content, turned);
    else scores_over_features(content, turned);
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
        f.compute_at(z_, h_).bound_extent(b_, queries_).bound_extent(n_, padded_);
        store(f, int64_t{4} * queries_ * padded_);
    }
    for (Func f : {peaks_, totals_}) {
        f.compute_at(z_, h_).bound_extent(b_, queries_).bound_extent(n_, 8);
        store(f, int64_t{4} * queries_ * 8);
    }
    for (Func f : {peak_, total_}) f.compute_at(z_, h_).bound_extent(b_, queries_);
    const Var &wide = over_queries_ ? b_ : n_;
    const int vec = over_queries_ ? vec_ : std::min(8, k_.target.vector_lanes);
    weight_.vectorize(wide, vec);
    for (Func f : {peaks_, totals_}) {
        f.vectorize(wide, vec);
        f.update().reorder(b_, n_, all).vectorize(wide, vec).unroll(b_).unroll(n_);
    }
    if (!over_queries_) return;
    for (Func f : {peak_, total_}) {
        f.vectorize(b_, vec);
        f.update().reorder(b_, eight).vectorize(b_, vec);
    }
}

// In sums of a chunk of keys each: float32 keeps its accuracy over a long window.
void SoftmaxAttention::average() {
    RDom in(0, chunk_, "in"), chunks(0, (padded_ + chunk_ - 1) / chunk_, "chunks");
    const Expr key = g_ * chunk_ + in, inside = min(key, padded_ - 1), w = weight_(b_, inside, h_, tile_);
    part_(b_, d_, g_, h_, tile_) = 0.0f;
    part_(b_, d_, g_, h_, tile_) += (padded_ % chunk_ ? select(key < padded_, w, 0.0f) : w) *
                                    kv_(heads_ * dk_ + h_ * dv_ + d_, key_row(inside));
    sum_(b_, d_, h_, tile_) = 0.0f;
    sum_(b_, d_, h_, tile_) += part_(b_, d_, chunks, h_, tile_);
    z_(b_, d_, h_, tile_) = sum_(b_, d_, h_, tile_) / max(total_(b_, h_, tile_), 1e-30f);

    Var dout("dout"), din("din");
    const Var &wide = over_queries_ ? b_ : d_;
    const int vec = over_queries_ ? vec_ : dividing_vector(dv_, k_.target.vector_lanes),
              block = over_queries_ ? divisor_at_most(dv_, 8) : vec * divisor_at_most(dv_ / vec, 8);
    z_.bound_extent(b_, queries_).bound_extent(d_, dv_).bound_extent(h_, heads_);
    z_.split(d_, dout, din, block).reorder(b_, din, dout, h_);
    z_.vectorize(over_queries_ ? b_ : din, vec).unroll(b_).unroll(din);
    store(z_, int64_t{4} * queries_ * heads_ * dv_);
    sum_.compute_at(z_, dout).bound_extent(b_, queries_).bound_extent(d_, block);
    sum_.vectorize(wide, vec).unroll(b_).unroll(d_);
    sum_.update().reorder(b_, d_, chunks).vectorize(wide, vec).unroll(b_).unroll(d_);
    part_.compute_at(sum_, chunks).bound_extent(b_, queries_).bound_extent(d_, block);
    part_.vectorize(wide, vec).unroll(b_).unroll(d_);
    part_.update().reorder(b_, d_, in).vectorize(wide, vec).unroll(b_).unroll(d_);
}

void SoftmaxAttention::build() {
    weigh();
    average();
    const int width = heads_ * dv_, padded = physical(width);
    const Expr lane = padded == width ? Expr(c_) : min(c_, width - 1);
    const Expr value = z_(r_row_ % queries_, lane % dv_, lane / dv_, r_row_ / queries_);
    y_(c_, r_row_) = padded == width ? value : select(c_ < width, value, 0.0f);
    Var ri("ri");
    y_.split(r_row_, tile_, ri, queries_).reorder(c_, ri, tile_).vectorize(c_, dividing_vector(padded, vec_));
    z_.compute_at(y_, tile_);
    k_.output(y_, dense({padded, rows_}));
}

void build_softmax_attention(KernelBuilder &k) { SoftmaxAttention(k).build(); }

} // namespace

static const Kernel softmax_attention{"softmax_attention", build_softmax_attention};

} // namespace longwave::schedules
