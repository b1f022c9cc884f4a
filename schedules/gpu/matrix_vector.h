// A matrix times few rows. A workgroup makes a panel of 16 outputs, and its threads share the
// inputs: each reads four outputs of every n-th word, many words at once, each weight once.
#pragma once
#include "schedules/gpu/product.h"

namespace longwave::gpu {

// How a workgroup shares a panel: four threads along its outputs, and these along its words.
struct VectorSlices {
    uint32_t slices = 16;
    uint32_t together = 16; // words that a thread reads at once

    uint32_t threads() const { return 4 * slices; }
};
// Those that fit, the best guess first: then half and twice as many threads, and half as many loads. None:
// too many sums for a thread, or a format that the kernel does not read.
std::vector<VectorSlices> vector_slices(const ProductSizes &sizes, const schedules::WorkgroupLimits &limits);

// x is read in floats.
Program matrix_vector(const ProductSizes &sizes, const VectorSlices &slices,
                      const DeclareFinishVectors &finish);

} // namespace longwave::gpu
