// Small artifacts with several stream entries over one state.
#pragma once
#include "tests/support/tiny_model.h"

namespace longwave::test {

// One entry for each block, the first the default; blocks divide 8 or are multiples of it, and
// divide the larger of 48 and the largest. Audio at 1 kHz.
//   y      one row a tick: FIR of nine taps, added up in the same order whatever the block
//   total  one row a tick: the sum of y so far, carried in place
//   sums   one row of 3 for 8 ticks: the sum of y so far, plus 0, 1, 2; blocks above 8 bring
//          several, as ordered tiles
// So all entries give the same bits. Entries whose block is in `cached` hear through a cache that
// holds copies of the blocks their FIR reaches back to, and is rebuilt from the input's ring.
struct Family {
    std::vector<uint32_t> blocks, cached;
    uint32_t delay = 0; // of all outputs, as if they were that late
};
Draft blocks_model(const Family &family);
inline constexpr uint32_t family_sums = 8;

// One entry for each block, dividing 16. A step that writes to the cache fires at tick 48·f + 16
// and leaves that number (modulo 4,800); the output reads it at the end of each 48 ticks.
Draft marks_model(const std::vector<uint32_t> &blocks);

// A run of 64 tiles of 256 features: squares (each tile through scratch of its own), copies that
// fail where a tile begins with more than 1000 squared, and their running total, tile after tile.
Draft tiles_model();
inline constexpr uint32_t tile_rows = 256, tiles_capacity = 64 * tile_rows;

} // namespace longwave::test
