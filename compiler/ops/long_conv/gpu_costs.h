// The predicted cost of a long convolution on a GPU. Memory traffic bounds the kernels of
// transforms, so the model counts bytes and dispatches, and asks PlanContext::costs what they take.
// Only ratios matter.
#pragma once
#include "compiler/ops/long_conv/kernels.h"
#include <algorithm>
#include <limits>

namespace longwave::compiler::convolution {

struct GpuWork {
    double bytes = 0; // per output element
    // Per dispatch. Without a number: as many as keep any device busy.
    double workgroups = std::numeric_limits<double>::infinity();
    uint32_t dispatches = 1;

    // ns per output element.
    double cost(const Shape &shape, const PlanContext &context) const {
        const costs::DeviceCosts &device = context.costs->device;
        const double elements = double(shape.channels) * shape.copies * context.rows;
        return bytes / device.bytes_per_ns * std::max(1.0, device.busy_workgroups / workgroups) +
               dispatches * device.ns_per_dispatch / elements;
    }
};

// Bytes per number of a row, and per complex number.
inline constexpr double row_bytes = 4, point_bytes = 8;

// Of the time of a transform in shared memory, with points in registers. An estimate from counts of
// instructions and of memory requests (docs/gpu.md), not a time on a GPU.
inline constexpr double registers_to_shared = 0.4;

} // namespace longwave::compiler::convolution
