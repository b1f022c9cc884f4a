// A result that lies in the other order than what it is made of: channel by channel from rows, or rows
// from channels. A workgroup computes a tile in the order of its sources, keeps it in shared memory,
// and writes it in the order of the result. So both sides read and write whole sectors.
#pragma once
#include "schedules/halide/builder.h"

namespace longwave::schedules {

class TransposedTile {
public:
    enum class Result { rows, channels };

    // Whether rows of `width` floats can be transposed: of as many channels as a tile has at least.
    static bool fits(int width) { return width % least_channels == 0; }

    TransposedTile(int width, int rows, Result result);

    // A row within the sequence, for what the tile holds: the last tile may reach behind its end.
    Halide::Expr inside(const Halide::Expr &row) const;
    // `tile`, of channel and row, holds what `y` is made of. Both are dimensions of `y`; it has others
    // only of extent 1. Returns the loop within which a thread computes an element of the tile.
    Halide::VarOrRVar schedule(Halide::Func y, Halide::Func tile, const Halide::Var &channel,
                               const Halide::Var &row) const;

private:
    static constexpr int warp = 32, warps = 8; // of a workgroup
    static constexpr int tile_rows = warp, least_channels = 16;

    // Threads of a workgroup over a tile, neighbours along the channels or along the rows.
    Halide::VarOrRVar over_channels(Halide::Func f, const Halide::Var &channel, const Halide::Var &row) const;
    Halide::VarOrRVar over_rows(Halide::Func f, const Halide::Var &channel, const Halide::Var &row) const;

    const int rows_, channels_; // of the sequence, of a tile
    const Result result_;
};

} // namespace longwave::schedules
