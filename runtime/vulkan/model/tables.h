// Weights and derived tables on a GPU: of each space the part that its steps read. The rest is for
// the CPU, which packs a spectrum or a matrix in another order.
#pragma once
#include "runtime/vulkan/device/memory.h"

namespace longwave::runtime::vulkan {

struct DeviceTable {
    DeviceBuffer memory;
    uint64_t begin = 0; // the first byte of the space that `memory` has
};

struct Range {
    uint64_t begin = 0, bytes = 0; // 0 bytes: nothing is read
};
// From the first to behind the last byte that steps of the GPU read. `begin` is as aligned as
// descriptors must be.
Range range_read(const fb::Plan &plan, fb::Space space);

lw_status fill_table(const Gpu &gpu, const Range &range, const uint8_t *space, const char *what,
                     DeviceTable *table);

} // namespace longwave::runtime::vulkan
