#include "compiler/devices/traits.h"
#include "formats/artifact/plan_generated.h"

namespace longwave::devices {

// A call is one dispatch over all rows. Vulkan binds buffers at multiples of 64 bytes, also after
// their elements become half as long.
Traits vulkan(const targets::Target &target) {
    return {.name = target.name,
            .target = &target,
            .runs = fb::DeviceKind::gpu,
            .kernels = gpu_kernels,
            .code = CodeContainer::modules,
            .tiles = false,
            .kernels_count_rows = false,
            .forced_algorithms = false,
            .skip_masks = false,
            .integer_products = false,
            .longer_transforms = false,
            .position_vectorized = false,
            .keeps_channels = false,
            .workgroup_bytes = static_cast<uint64_t>(target.shared_bytes),
            .row_alignment = 64,
            .fp16_row_alignment = 128,
            .fp16_storage = true,
            .arenas_in_row = false,
            .stream_clears = false};
}

} // namespace longwave::devices
