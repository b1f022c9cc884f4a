// A matrix times many rows. A workgroup makes a tile of rows by outputs, and a thread keeps its part
// of the tile in registers while the inputs go by in chunks through shared memory.
#pragma once
#include "schedules/contract/panels.h"
#include "schedules/spirv/program.h"
#include <functional>
#include <optional>

namespace longwave::gpu {

struct ProductSizes {
    uint32_t rows = 1;
    uint32_t in = 1, in_row = 1;       // inputs of an output; floats from one row to the next
    uint32_t first = 0, blocks = 1;    // of the diagonal: block j reads the inputs from first + j in on
    bool bias = false;
    schedules::Panels panels;

    uint32_t width() const { return schedules::pad(panels.out); } // of a row of results
    bool scaled() const { return panels.format == schedules::WeightFormat::int8; }
};

// How a workgroup shares a tile. Outputs count in fours; with gates, two fours make four results.
struct ProductTile {
    uint32_t rows = 8, fours = 2;      // of a thread
    uint32_t across = 16, down = 16;   // threads along the outputs and along the rows
    uint32_t gap = 4;                  // fours from a panel to the next in shared memory
    static constexpr uint32_t chunk = 16; // inputs in shared memory at once

    uint32_t threads() const { return across * down; }
    uint32_t tile_rows() const { return rows * down; }
    uint32_t panels() const { return fours * across / 4; } // of values and of gates
    // Panels that neighbours read begin in different banks.
    uint32_t panel_fours() const { return chunk * 4 + gap; }
    uint32_t shared_floats() const { return 4 * (tile_rows() * chunk / 4 + panels() * panel_fours()); }
};

struct WorkgroupSizes {
    uint32_t shared_bytes = 0, threads = 0;
};
// None: the kernel reads inputs in fours, and tiles do not cross blocks. These do not fit.
std::optional<ProductTile> product_tile(const ProductSizes &sizes, const WorkgroupSizes &limits);

// Four results: of outputs 4 `four` to 4 `four` + 3 of a row.
struct FourPlace {
    Uint four, row;
};
// What is stored instead of sums, each with its bias; `gates` are empty where there are none.
using FinishFours = std::function<Four(const Four &values, const std::optional<Four> &gates, const FourPlace &at)>;
// Declares the buffers that FinishFours reads.
using DeclareFinishFours = std::function<FinishFours(Program &)>;

// Buffers, all in fours: x [in_row, rows]; w, panels; scale and bias [width, halves] where there are
// some; those of `finish`; y [width, rows].
Program matrix_product(const ProductSizes &sizes, const ProductTile &tile, const DeclareFinishFours &finish);

} // namespace longwave::gpu
