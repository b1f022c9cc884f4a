// What the schedules of softmax_attention share: params, arguments, and where the keys of a head lie.
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
    bool in_ring() const { return window_ && !whole_; }
    // Where keys and values of a key head begin in a row.
    Halide::Expr keys_of(const Halide::Expr &key_head) const { return key_head * dk_; }
    Halide::Expr values_of(const Halide::Expr &key_head) const { return key_heads_ * dk_ + key_head * dv_; }

    KernelBuilder &k_;
    const contract::SoftmaxAttention::Arguments<contract::Names> names_ =
        contract::names_of<contract::SoftmaxAttention>();
    const int heads_, key_heads_, shared_; // shared_: heads in a row that read one key head
    const int dk_, dv_, rows_, window_, ring_;
    const bool relative_, whole_;
    const int present_; // the feature that says that a row is there
    Halide::ImageParam kv_, q_, r_, content_, position_bias_;
    Halide::Expr position_, filled_;
    Halide::Var d_{"d"}, n_{"n"}, h_{"h"};
};

// On a CPU: keys in blocks, a tile of queries at a time.
class AttentionInBlocks : SoftmaxAttention {
public:
    AttentionInBlocks(KernelBuilder &k, const contract::SoftmaxAttention &p);
    void build();

private:
    // ---- softmax_attention.cc ----
    // The head of query b, where h counts groups of a tile.
    Halide::Expr head(const Halide::Expr &h, const Halide::Expr &b) const {
        return group_ == 1 ? h : h * group_ + b / tile_rows_;
    }
    Halide::Expr key_head() const { return group_ == shared_ ? Halide::Expr(h_) : h_ / shared_; }
    Halide::Expr row_of(const Halide::Expr &b) const { return group_ == 1 ? b : b % tile_rows_; }
    // Of a tile's first query; the last tile of a call may overlap the one before.
    Halide::Expr first_query(const Halide::Expr &tile) const {
        return rows_ % tile_rows_ ? min(tile * tile_rows_, rows_ - tile_rows_) : tile * tile_rows_;
    }
    // The n-th key of block g, counted from the first one that the tile sees. Of the first block some
    // keys may lie before that one.
    Halide::Expr key(const Halide::Expr &n) const { return g_ * block_ + n - before_; }
    Halide::Expr key_row(const Halide::Expr &key) const; // where it lies
    // How old it is for a row of the tile.
    Halide::Expr age_of(const Halide::Expr &row, const Halide::Expr &key) const {
        return whole_ ? position_ + first_query(tile_) + row - key : row + (window_ - 1) - key;
    }
    Halide::Func query(const std::string &name, const Halide::ImageParam &bias) const;
    void find_absent();
    void weigh();
    void sum_values();
    void join();
    void write();
    // Vectors of scores and weights: of queries, or of keys.
    template <class Of> void in_lanes(Of of) const;
    // Computed for a tile and a block, in storage of so many floats.
    void inside(Halide::Func f, int64_t floats, bool by_key);

    // ---- softmax_attention_scores.cc ----
    void score(const Halide::Func &content, const Halide::Func &positional);
    void score_over_queries(const Halide::Func &content, const Halide::Func &positional);
    void score_over_features(const Halide::Func &content, const Halide::Func &positional);

    const bool few_;              // rows, less than a tile of queries of one head
    const int group_, tile_rows_; // heads and rows of a tile
    const int queries_;           // of a tile: the rows of each head
    const int vec_;               // lanes of queries
    const bool over_queries_;     // lanes of the scores of a key are queries, else features
    const int wide_;              // lanes of values
    // Keys that a tile sees; blocks of them; keys of a block; those of the first block that lie before
    // what the tile sees.
    const int span_, blocks_, block_, before_;
    const int sums_;       // where the sums of values begin in the state of a query
    const int looked_up_;  // rows of a block of all tiles
    const bool all_heads_; // take in a block before the next one; else each head takes all blocks
    const int64_t states_; // floats of the states that take in a block together
    std::vector<Halide::Func> queries_of_tiles_;
    Halide::Var b_{"b"}, g_{"g"}, tile_{"tile"}, m_{"m"};
    Halide::Func absent_{"absent"}, dot_{"dot"}, score_{"score"}, peaks_{"peaks"}, peak_{"peak"},
        weight_{"weight"}, totals_{"totals"}, total_{"total"}, part_{"part"}, state_{"state"};
};

} // namespace longwave::schedules
