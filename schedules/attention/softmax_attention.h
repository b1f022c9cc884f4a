// What both forms of softmax_attention share: params, arguments, where a key lies and whether a
// query sees it.
#pragma once
#include "schedules/contract/kernels/attention.h"
#include "schedules/halide/builder.h"

namespace longwave::schedules {

class SoftmaxAttention {
public:
    SoftmaxAttention(KernelBuilder &k, const contract::SoftmaxAttention &p);

protected:
    static constexpr float nothing = -1e30f; // the score of a key that is not there

    static int physical(int width) { return static_cast<int>(pad(extent(width))); }
    // Of a tile's first query; the last tile of a call may overlap the one before.
    Halide::Expr first_query(const Halide::Expr &tile) const {
        return rows_ % queries_ ? min(tile * queries_, rows_ - queries_) : tile * queries_;
    }
    // Where the n-th of the `span_` key rows that a tile sees lies.
    Halide::Expr key_row(const Halide::Expr &n, const Halide::Expr &tile) const {
        return in_ring() ? wrapped(position_ + first_query(tile) + n - (window_ - 1), ring_) : n;
    }
    // How old it is for query b of the tile.
    Halide::Expr lag(const Halide::Expr &b, const Halide::Expr &n, const Halide::Expr &tile) const {
        return whole_ ? position_ + first_query(tile) + b - n : b + (window_ - 1) - n;
    }
    // Where the keys and the values of a head begin in a row.
    Halide::Expr keys_of(const Halide::Expr &head) const { return key_head(head) * dk_; }
    Halide::Expr values_of(const Halide::Expr &head) const { return key_heads_ * dk_ + key_head(head) * dv_; }
    bool in_ring() const { return window_ && !whole_; }
    // Queries of a tile with a bias, scaled.
    Halide::Func query(const std::string &name, const Halide::ImageParam &bias) const;
    // `z`(d, b, h, tile): the averages of a tile of queries. Head after head, so that the keys and
    // values of one stay near while tiles go by.
    void write(Halide::Func z);

private:
    Halide::Expr key_head(const Halide::Expr &head) const {
        return key_heads_ == heads_ ? head : head / (heads_ / key_heads_);
    }

protected:
    KernelBuilder &k_;
    const contract::SoftmaxAttention::Arguments<contract::Names> names_ =
        contract::names_of<contract::SoftmaxAttention>();
    const int heads_, key_heads_, dk_, dv_, rows_, window_, ring_;
    const bool relative_, whole_;
    const int queries_, span_; // queries of a tile; key rows that one of them may see
    const int present_;        // the feature that says that a row is there
    Halide::ImageParam kv_, q_, r_, content_, position_bias_;
    Halide::Expr position_;
    Halide::Var b_{"b"}, d_{"d"}, n_{"n"}, h_{"h"}, g_{"g"}, tile_{"tile"};
};

// Lanes are queries: for 8 rows and more.
class AttentionOverQueries : SoftmaxAttention {
public:
    AttentionOverQueries(KernelBuilder &k, const contract::SoftmaxAttention &p);
    void build();

private:
    Halide::Func scores(const Halide::Func &content, const Halide::Func &positional);
    void weigh(const Halide::Func &score);
    void sum_values();
    void keep();
    Halide::Func average();

    const int vec_, wide_;              // lanes of queries, of values
    const int chunks_, chunk_, before_; // chunks of keys, the first beginning so many before the span
    const int kept_width_;
    Halide::Func unseen_{"unseen"}, dot_{"dot"}, score_{"score"}, peaks_{"peaks"}, peak_{"peak"},
        weight_{"weight"}, totals_{"totals"}, total_{"total"}, part_{"part"}, kept_{"kept"}, top_{"top"},
        share_{"share"}, sum_{"sum"}, z_{"z"};
};

} // namespace longwave::schedules
