#include "runtime/vulkan/device/entry_points.h"
#include "runtime/platform/library.h"
#include "runtime/vulkan/device/failure.h"

namespace longwave::runtime::vulkan {

static lw_status missing(const char *name) {
    return fail(LW_NO_DEVICE, "the Vulkan driver has no %s: it is older than Vulkan 1.1, or damaged", name);
}

lw_status EntryPoints::load(PFN_vkGetInstanceProcAddr given) {
    find_ = given;
    if (!find_) {
        library_ = platform::open_library(platform::vulkan_library);
        if (!library_)
            return fail(LW_NO_DEVICE,
                        "there is no %s: install the Vulkan loader (Debian: libvulkan1) and a driver",
                        platform::vulkan_library);
        find_ = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
            platform::find_function(library_, "vkGetInstanceProcAddr"));
        if (!find_) return missing("vkGetInstanceProcAddr");
    }
#define LW_VK_GLOBAL(name)                                                                                   \
    name = reinterpret_cast<PFN_##name>(find_(nullptr, #name));                                              \
    if (!(name)) return missing(#name);
#include "runtime/vulkan/device/entry_points.inc"
    return LW_OK;
}

lw_status EntryPoints::load_instance(VkInstance instance) {
#define LW_VK_INSTANCE(name)                                                                                 \
    name = reinterpret_cast<PFN_##name>(find_(instance, #name));                                             \
    if (!(name)) return missing(#name);
#include "runtime/vulkan/device/entry_points.inc"
    return LW_OK;
}

lw_status EntryPoints::load_device(VkDevice device) {
#define LW_VK_DEVICE(name)                                                                                   \
    name = reinterpret_cast<PFN_##name>(vkGetDeviceProcAddr(device, #name));                                 \
    if (!(name)) return missing(#name);
#include "runtime/vulkan/device/entry_points.inc"
    return LW_OK;
}

void EntryPoints::unload() {
    if (library_) platform::close_library(library_);
    library_ = nullptr;
}

} // namespace longwave::runtime::vulkan
