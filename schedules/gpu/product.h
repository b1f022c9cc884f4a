// A matrix times rows: what its kernels share, whatever the number of rows.
#pragma once
#include "schedules/contract/panels.h"
#include "schedules/contract/workgroup_limits.h"
#include "schedules/gpu/program.h"
#include <functional>
#include <optional>

namespace longwave::gpu {

struct ProductSizes {
    uint32_t rows = 1;
    uint32_t in = 1, in_row = 1;    // inputs of an output; floats from one row to the next
    uint32_t first = 0, blocks = 1; // of the diagonal: block j reads the inputs from first + j in on
    bool bias = false;
    schedules::Panels panels;
    // x or y lies [channel][row] instead of [row][channel]. `along_rows`: neighbouring threads have
    // neighbouring rows, which y and operands that lie so need.
    bool x_channel_major = false, y_channel_major = false, along_rows = false;

    uint32_t width() const { return schedules::pad(panels.out); } // of a row of results
    bool scaled() const { return panels.format == schedules::WeightFormat::int8; }
};

// Vec4 results: of outputs 4 `four` to 4 `four` + 3 of a row.
struct VectorPlace {
    Uint four, row;
};
// What is stored instead of sums, each with its bias; `gates` are empty where there are none.
using FinishVectors =
    std::function<Vec4(const Vec4 &values, const std::optional<Vec4> &gates, const VectorPlace &at)>;
// Declares the buffers that FinishVectors reads.
using DeclareFinishVectors = std::function<FinishVectors(Program &)>;

// The buffers, in order: x [in_row, rows] in elements of `x_width`; w, panels; scale and bias
// [width, halves] where there are some; those of `finish`; y [width, rows]. All but x in fours, and
// what lies channel by channel in single floats.
class ProductBuffers {
public:
    ProductBuffers(Program &program, const ProductSizes &sizes, uint32_t x_width,
                   const DeclareFinishVectors &finish);

    // What the sums of an output begin with. `four` is one that exists.
    Vec4 start(Uint four, uint32_t half);
    // Stores what becomes of the sums of four outputs, of the values and of the gates.
    void store(const VectorPlace &at, const std::vector<Vec4> &sums);
    // The weights at a place of their words. int8 stays in the upper bits, 2^24 times what it
    // stands for.
    Vec4 widened(const Vec4 &words, uint32_t place);

    Memory x, w;

private:
    Vec4 of_output(Memory from, Uint four, uint32_t half);

    Program &p_;
    const ProductSizes &sizes_;
    Memory scale_, bias_, y_;
    FinishVectors finish_;
};

} // namespace longwave::gpu
