#include "schedules/halide/transposed_tile.h"

namespace longwave::schedules {

using namespace Halide;

TransposedTile::TransposedTile(int width, int rows, Result result)
    : rows_(rows), channels_(width % warp == 0 ? warp : least_channels), result_(result) {}

Expr TransposedTile::inside(const Expr &row) const {
    return rows_ % tile_rows == 0 ? row : min(row, rows_ - 1);
}

// Of 16 channels a warp takes two rows.
VarOrRVar TransposedTile::over_channels(Func f, const Var &channel, const Var &row) const {
    Var of_row("of_row"), line("line"), two("two"), lane("lane");
    const int together = warp / channels_;
    f.split(row, of_row, line, warps * together);
    if (together == 1) {
        f.reorder(of_row, channel, line).gpu_threads(channel, line);
    } else {
        Var pair("pair");
        f.split(line, pair, two, together).fuse(channel, two, lane);
        f.reorder(of_row, lane, pair).gpu_threads(lane, pair);
    }
    f.unroll(of_row);
    return of_row;
}

VarOrRVar TransposedTile::over_rows(Func f, const Var &channel, const Var &row) const {
    Var of_channel("of_channel"), line("line");
    f.split(channel, of_channel, line, warps);
    f.reorder(of_channel, row, line).gpu_threads(row, line).unroll(of_channel);
    return of_channel;
}

VarOrRVar TransposedTile::schedule(Func y, Func tile, const Var &channel, const Var &row) const {
    Var block("block"), block_row("block_row"), in_block("in_block"), in_row("in_row");
    // What has further dimensions takes them first.
    for (const Var &var : y.args())
        if (var.name() != channel.name() && var.name() != row.name()) y.reorder(var, channel, row);
    y.split(row, block_row, in_row, tile_rows,
            rows_ % tile_rows ? TailStrategy::GuardWithIf : TailStrategy::Auto)
        .split(channel, block, in_block, channels_)
        .reorder(in_block, in_row, block, block_row)
        .gpu_blocks(block, block_row);
    // The columns of a tile lie apart by so much that neighbours along either side meet in no bank.
    tile.compute_at(y, block)
        .store_in(MemoryType::GPUShared)
        .bound_extent(channel, channels_)
        .bound_extent(row, tile_rows)
        .reorder_storage(row, channel)
        .align_storage(row, tile_rows + warp / channels_);
    if (result_ == Result::channels) {
        over_rows(y, in_block, in_row);
        return over_channels(tile, channel, row);
    }
    over_channels(y, in_block, in_row);
    return over_rows(tile, channel, row);
}

} // namespace longwave::schedules
