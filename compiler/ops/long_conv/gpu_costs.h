// The predicted cost of a long convolution on a GPU. Memory traffic bounds the kernels of
// transforms, so the model counts bytes and dispatches. Only ratios matter, and none was measured:
// Longwave has run on software devices only. The constants describe a common device: 400 GB/s, 5 µs
// per dispatch with its barrier, and 64 workgroups of 256 threads to saturate the memory.
#pragma once
#include "compiler/ops/long_conv/kernels.h"
#include <algorithm>

namespace longwave::compiler::convolution {

struct GpuWork {
    static constexpr double busy_workgroups = 64;
    double bytes = 0;                    // per output element
    double workgroups = busy_workgroups; // per dispatch
    uint32_t dispatches = 1;

    // ns per output element.
    double cost(const Shape &shape, uint32_t rows) const {
        constexpr double bytes_of_a_ns = 400, ns_of_a_dispatch = 5000;
        const double elements = double(shape.channels) * shape.copies * rows;
        return bytes / bytes_of_a_ns * std::max(1.0, busy_workgroups / workgroups) +
               dispatches * ns_of_a_dispatch / elements;
    }
};

// Bytes per number of a row, and per complex number.
inline constexpr double row_bytes = 4, point_bytes = 8;

} // namespace longwave::compiler::convolution
