// GPUs with Vulkan 1.1, by their shared memory.
#include "targets/target.h"

namespace longwave::targets {

// Vulkan 1.1 with the 16 KiB of shared memory that every device has: single-board computers,
// phones.
Target vulkan_16k() {
    return {
        .name = "vulkan-16k",
        .kind = Kind::gpu,
        .halide = vulkan_options,
        .vector_lanes = 1,
        .shared_bytes = 16 << 10,
        .threads = 256,
        .group_count = 65535,
        .group_depth = 64,
        .registers = 64, // V3D
        .buffers = 16,
    };
}

// Vulkan 1.1 with 32 KiB of shared memory: all but a few small GPUs, and software devices.
Target vulkan_32k() {
    return {
        .name = "vulkan-32k",
        .kind = Kind::gpu,
        .halide = vulkan_options,
        .vector_lanes = 1,
        .shared_bytes = 32 << 10,
        .threads = 512,
        .group_count = 65535,
        .group_depth = 64,
        .registers = 128, // Intel at 16 lanes per subgroup
        .buffers = 16,
    };
}

} // namespace longwave::targets
