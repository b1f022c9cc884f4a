// Vulkan 1.1 with the 16 KiB of shared memory that every device has: single-board computers,
// phones.
#include "targets/target.h"

namespace longwave::targets {

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

} // namespace longwave::targets
