// Sizes rounded up to whole pieces.
#pragma once
#include <cstdint>

namespace longwave::compiler {

inline constexpr uint64_t cache_line = 64;

inline uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }
inline uint64_t to_lines(uint64_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }

// Rows of one call of a whole run: all when they are few, else 64 to 128, the number that leaves
// the fewest rows over in the last call.
inline uint32_t tile_rows(uint32_t rows) {
    if (rows <= 128) return rows;
    uint32_t best = 64;
    for (uint32_t tile = best + 1; tile <= 128; tile++)
        if (round_up(rows, tile) < round_up(rows, best)) best = tile;
    return best;
}

} // namespace longwave::compiler
