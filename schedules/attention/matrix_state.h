// A matrix for each head that stays where it lies and is updated there, in two floats an element:
// what the kernels of linear_attention and decaying_attention share.
#pragma once
#include "schedules/halide/builder.h"

namespace longwave::schedules {

// Values are P(heads·dv) lanes, cut into tiles. Where 8 divides dv and 16 all values, a tile
// belongs to one head and its keys are scalars to its lanes; where not, each lane looks up its
// head, which gathers. The state S is [tile lanes, rows of S, tiles], so that a pass over a tile
// reads memory as a stream.
class MatrixState {
public:
    // Params and arguments that the contracts have in common. S has turns·dk rows a head.
    struct Params {
        int heads, dk, dv, rows, turns;
    };
    struct Arguments {
        contract::Names::Input q, keys, v; // of turns·dk, dk and dv features a head
        contract::Names::State high, low;
        contract::Names::Output o;
    };
    // K: a contract of linear_attention or decaying_attention. Declares q, keys and v.
    template <class K> MatrixState(KernelBuilder &builder, const K &p)
        : MatrixState(builder, params_of(p), arguments_of<K>()) {}

    // The Func of S and o; its elements are S high, S low, o at (lane, row of S or of time, tile of
    // the group, group).
    Halide::Func y{"y"};
    Halide::Var c{"c"}, i{"i"}, s{"s"}, h{"h"}, t{"t"}, j{"j"}, co{"co"}, ci{"ci"};
    const Arguments names;
    const int rows, heads, dk, dv, state_rows;
    const bool one_head; // all lanes of a tile belong to one head
    const int width, tile, groups,
        tiles;     // lanes, lanes of a tile, groups of tiles that share keys, tiles of a group
    const int vec; // lanes of a vector
    Halide::ImageParam q, key, v;

    // Rows of `of_head` values for each head, beside each other in padded rows.
    Halide::ImageParam keys(const contract::Names::Input &name, int of_head);
    Halide::Expr head() const {
        return one_head ? Halide::Expr(h) : Halide::Expr(min((s * tile + c) / dv, heads - 1));
    }
    Halide::Tuple only_o(const Halide::Expr &value) const {
        return {Halide::undef<float>(), Halide::undef<float>(), value};
    }
    // S + p in two floats; |high| ≥ |low + p| but for the first rows, where the sum is exact or its error
    // that of p.
    struct Sum {
        Halide::Expr high, low;
    };
    Sum plus(const Halide::Expr &row, const Halide::Expr &p) const;
    // A chunk of a CPU, which is unrolled, has few rows.
    void require_chunk() const { k_.params.require(rows <= 64, "'rows' must be at most 64 on a CPU"); }
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
        Params made{.heads = p.heads, .dk = p.dk, .dv = p.dv, .rows = 1, .turns = 1};
        if constexpr (requires { p.rows; }) made.rows = p.rows;
        if constexpr (requires { p.turns; }) made.turns = p.turns;
        return made;
    }
    template <class K> static Arguments arguments_of() {
        const auto a = contract::names_of<K>();
        Arguments made{.q = a.q, .keys = a.k, .v = a.v, .high = a.S_high, .low = a.S_low, .o = a.o};
        if constexpr (requires { a.w; }) made.keys = a.w;
        return made;
    }
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

// As many sums as fill the registers, `across` vectors of lanes by `down` rows: both divide, and
// the fewer loads the better.
struct RegisterTile {
    int across = 1, down = 1;
};
RegisterTile register_tile(int vectors, int rows, int sums);

// An update of y in blocks of `block` lanes, its loops from the inside: lanes, then `loops`, of
// which the first lies in registers, then blocks, tiles and groups.
void schedule_update(MatrixState &state, int which, int block, const std::vector<Halide::RVar> &loops);
// A Func of such an update's block of lanes by `down` rows, a sum over `over`, in registers.
void schedule_block(const MatrixState &state, Halide::Func f, const Halide::RVar &at, int block,
                    const Halide::Var &row, int down, const Halide::RVar &over);

} // namespace longwave::schedules
