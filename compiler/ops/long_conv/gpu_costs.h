// What a long convolution costs on a GPU: kernels of transforms are bound by what they move through memory, so bytes are
// counted, and dispatches. Ratios matter, and none of it was measured: Longwave has run on software devices only. The
// figures are those of a common device, 400 GB/s and 5 µs for a dispatch behind a barrier, whose memory it takes some 64
// workgroups of 256 threads to keep busy.
#pragma once
#include "compiler/ops/long_conv/kernels.h"
#include <algorithm>

namespace longwave::compiler::convolution {

struct GpuWork {
    static constexpr double busy_workgroups = 64;
    double bytes = 0;                    // of an output element
    double workgroups = busy_workgroups; // of a dispatch
    uint32_t dispatches = 1;

    // ns an output element.
    double cost(const Shape &shape, uint32_t rows) const {
        constexpr double bytes_of_a_ns = 400, ns_of_a_dispatch = 5000;
        const double elements = double(shape.channels) * shape.copies * rows;
        return bytes / bytes_of_a_ns * std::max(1.0, busy_workgroups / workgroups) +
               dispatches * ns_of_a_dispatch / elements;
    }
};

// Bytes of a number of a row, and of a complex one.
inline constexpr double row_bytes = 4, point_bytes = 8;

} // namespace longwave::compiler::convolution
