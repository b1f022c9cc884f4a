// A matrix times many rows. A workgroup makes a tile of rows by outputs, and a thread keeps its
// part of the tile in registers while the inputs go by in chunks through shared memory.
#pragma once
#include "schedules/gpu/product.h"

namespace longwave::gpu {

// How a workgroup shares a tile. Outputs count in fours; with gates, two fours make four results.
struct ProductTile {
    uint32_t rows = 8, fours = 2;         // of a thread
    uint32_t across = 16, down = 16;      // threads along the outputs and along the rows
    uint32_t gap = 4;                     // fours from a panel to the next in shared memory
    static constexpr uint32_t chunk = 16; // inputs in shared memory at once

    uint32_t threads() const { return across * down; }
    uint32_t sums() const { return rows * fours * 4; } // of a thread
    uint32_t tile_rows() const { return rows * down; }
    uint32_t panels() const { return fours * across / 4; } // of values and of gates
    // In shared memory, in fours: x as [inputs / 4][rows] and two more rows, so that threads that
    // bring neighbouring inputs meet in no bank.
    uint32_t line_fours() const { return tile_rows() + 2; }
    uint32_t x_fours() const { return chunk / 4 * line_fours(); }
    // Panels that neighbours read begin in different banks.
    uint32_t panel_fours() const { return chunk * 4 + gap; }
    uint32_t shared_floats() const { return 4 * (x_fours() + panels() * panel_fours()); }
    bool operator==(const ProductTile &) const = default;
};

// Those that fit, the best guess first: the largest that makes enough workgroups for a device. None: the
// kernel reads inputs in fours, and tiles do not cross blocks. These do not fit.
std::vector<ProductTile> product_tiles(const ProductSizes &sizes, const schedules::WorkgroupLimits &limits);

// x is read in fours, or channel by channel in single floats.
Program matrix_product(const ProductSizes &sizes, const ProductTile &tile,
                       const DeclareFinishVectors &finish);

} // namespace longwave::gpu
