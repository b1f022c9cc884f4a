// A matrix S for each head that stays where it lies and moves on there, row by row:
//     S_t = decay_t S_(t−1) + k_t v_tᵀ (+ b_t a_tᵀ S_(t−1)),   o_t = q_t S_t
// What the kernels of linear_attention, decaying_attention and matrix_recurrence share: how S lies, a call of
// one row, and a call of several.
#pragma once
#include "schedules/halide/builder.h"

namespace longwave::schedules {

// Values are P(heads·dv) lanes, cut into tiles. Where 8 divides dv and 16 all values, a tile
// belongs to one head and its keys are scalars to its lanes; where not, each lane looks up its
// head, which gathers. The state S is [tile lanes, rows of S, tiles], so that a pass over a tile
// reads memory as a stream. S is the sum of two floats an element, high and low, or one float.
class MatrixState {
public:
    // Params and arguments that the contracts have in common. S has parts·dk rows a head.
    struct Params {
        int heads, dk, dv, rows, parts;
        int key_heads = heads; // that queries and keys have: so many heads in a row share them
    };
    struct Arguments {
        contract::Names::Input q, keys, v; // of parts·dk, dk and dv features a head
        contract::Names::State high, low;
        contract::Names::Output read = {}; // aᵀS, for the rank-one term
        contract::Names::Output o;
    };
    // K: a contract of one of the ops. Declares q, keys and v.
    template <class K> MatrixState(KernelBuilder &builder, const K &p)
        : MatrixState(builder, params_of(p), arguments_of<K>(p)) {}

    // The Func of S and o, at (lane, row of S or of time, tile of the group, group). Its elements:
    enum class Part { high, low, read, o };
    Halide::Func y{"y"};
    Halide::Var c{"c"}, i{"i"}, s{"s"}, h{"h"}, t{"t"}, j{"j"}, co{"co"}, ci{"ci"};
    const Arguments names;
    const int rows, heads, key_heads, dk, dv, state_rows;
    const bool one_head; // all lanes of a tile belong to one head
    const int width, tile, groups,
        tiles;     // lanes, lanes of a tile, groups of tiles that share keys, tiles of a group
    const int vec; // lanes of a vector
    Halide::ImageParam q, key, v;

    bool has(Part part) const {
        return part == Part::low ? !names.low.text.empty() : part != Part::read || !names.read.text.empty();
    }
    // Rows of `of_head` values for each of `count` heads, beside each other in padded rows.
    Halide::ImageParam keys(const contract::Names::Input &name, int of_head, int count);
    Halide::ImageParam keys(const contract::Names::Input &name, int of_head) {
        return keys(name, of_head, key_heads);
    }
    Halide::Expr head() const {
        return one_head ? Halide::Expr(h) : Halide::Expr(min((s * tile + c) / dv, heads - 1));
    }
    // Whose queries and keys the head has.
    Halide::Expr key_head() const { return key_heads == heads ? head() : head() / (heads / key_heads); }
    Halide::Expr at(Part part, const Halide::Expr &row) const { return y(c, row, s, h)[index(part)]; }
    // Elements of y that an update writes. The others stay.
    struct Written {
        Part part;
        Halide::Expr value;
    };
    Halide::Tuple only(const std::vector<Written> &written) const;
    // S + p in two floats; |high| ≥ |low + p| but for the first rows, where the sum is exact or its error
    // that of p.
    struct Sum {
        Halide::Expr high, low;
    };
    Sum plus(const Halide::Expr &row, const Halide::Expr &p) const;
    // `o_rows`: extent and stride of o along dimension 1.
    void outputs(const Dim &o_rows);
    // Of v and o.
    Shape row_shape(const Dim &second) const {
        return {{extent(tile), 1}, second, {extent(tiles), tile}, {extent(groups), tiles * tile}};
    }
    Shape state_shape() const { return dense({tile, state_rows, tiles, groups}); }

private:
    MatrixState(KernelBuilder &builder, const Params &params, Arguments arguments);
    template <class K> static Params params_of(const K &p) {
        Params made{.heads = p.heads, .dk = p.dk, .dv = p.dv, .rows = 1, .parts = 1};
        if constexpr (requires { p.rows; }) made.rows = p.rows;
        if constexpr (requires { p.parts; }) made.parts = p.parts;
        if constexpr (requires { p.key_heads; }) made.key_heads = p.key_heads;
        return made;
    }
    template <class K> static Arguments arguments_of(const K &p) {
        const auto a = contract::names_of<K>();
        Arguments made{.q = a.q, .keys = a.k, .v = a.v, .high = {}, .low = {}, .o = a.o};
        if constexpr (requires { a.S; }) made.high = a.S;
        else made.high = a.S_high, made.low = a.S_low;
        if constexpr (requires { a.read; }) {
            if (p.rank_one) made.read = a.read;
        } else if constexpr (requires { a.w; }) {
            made.keys = a.w;
        }
        return made;
    }
    size_t index(Part part) const;
    KernelBuilder &k_;
    static bool of_one_head(int heads, int dv) {
        return heads == 1 || dv % 16 == 0 || (dv % 8 == 0 && heads * dv % 16 == 0);
    }
    int tile_of() const {
        if (width == 1) return 1;
        for (const int size : {64, 32, 16})
            if (dv % size == 0) return size;
        return one_head && heads > 1 ? 8 : 16;
    }
};

// How a row of time moves an element of S in two floats, on any device: what is added to it.
struct MatrixUpdate {
    // Values for each row of S that the increment reads: the first of dk rows a head, the others of all.
    std::vector<Halide::ImageParam> keys;
    // From what the element's high float holds, the lane's value, and the element's row of each of `keys`.
    std::function<Halide::Expr(const Halide::Expr &now, const Halide::Expr &v,
                               const std::vector<Halide::Expr> &keys)>
        increment;
};
// S + k vᵀ.
MatrixUpdate outer_product(const MatrixState &state);
// S + k vᵀ − w S, by differences: never (1 − w) S + k v. `k`: undefined if it is w itself.
MatrixUpdate decaying(const MatrixState &state, const Halide::ImageParam &k = {});

// A call of one row on a CPU. One pass over S updates it and sums o.
void build_step(KernelBuilder &k, MatrixState &state, const MatrixUpdate &update);

// A call of several rows on a CPU: products of matrices in register tiles, over S as it was before the call.
// Sums are plain float32.
class MatrixChunk {
public:
    using Part = MatrixState::Part;
    MatrixChunk(KernelBuilder &builder, MatrixState &state);

    const int sums; // as many as fill the registers
    // A weight of row `row` for row `time` of the call, for the head of a lane.
    using Weight = std::function<Halide::Expr(const Halide::Expr &row, const Halide::Expr &time)>;
    // part_t = Σ_j weight(j, t) v_j, over the rows of the call.
    void sum_values(Part part, const Weight &weight);
    // part_t += Σ_i weight(i, t) from_i, over all rows of `from`.
    void add(Part part, Part from, const Weight &weight);
    // Moves S on. `next`, of a row of S, of that row within its part, and of Σ_t weight(row, t) v_t, says
    // what is written.
    void
    move(const Weight &weight,
         const std::function<std::vector<MatrixState::Written>(
             const Halide::Expr &row, const Halide::Expr &of_part, const Halide::Expr &increment)> &next);
    // S_i += Σ_t weight(i, t) read_t.
    void add_read(const Weight &weight);
    // When all is said: schedules it and declares the outputs.
    void finish();

private:
    // As many sums as fill the registers, `across` vectors of lanes by `down` rows: both divide, and
    // the fewer loads the better.
    struct RegisterTile {
        int across = 1, down = 1;
    };
    static RegisterTile register_tile(int vectors, int rows, int sums);
    // The next update of y in blocks of `across` vectors of lanes, its loops from the inside: lanes, then
    // `loops`, of which the first lies in registers, then blocks, tiles and groups.
    void schedule(int across, const std::vector<Halide::RVar> &loops);
    // A Func of such an update's block of lanes by `down` rows, a sum over `over`, in registers.
    void schedule_block(Halide::Func f, const Halide::RVar &at, const RegisterTile &tile,
                        const Halide::Var &row, const Halide::RVar &over);
    KernelBuilder &k_;
    MatrixState &a_;
    const RegisterTile time_, state_;
    int updates_ = 0;
    std::vector<std::function<void()>> schedules_;
};

} // namespace longwave::schedules
