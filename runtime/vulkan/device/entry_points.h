// Vulkan without linking to it: a table of its entry points, filled in from libvulkan or from what
// the caller gives, which may be a table of its own (faults are injected there).
#pragma once
#include "longwave/vulkan.h"
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace longwave::runtime::vulkan {

struct EntryPoints {
#define LW_VK_GLOBAL(name) PFN_##name name = nullptr;
#define LW_VK_INSTANCE(name) PFN_##name name = nullptr;
#define LW_VK_DEVICE(name) PFN_##name name = nullptr;
#include "runtime/vulkan/device/entry_points.inc"

    // Opens libvulkan unless `given`; LW_NO_DEVICE when it is not there or has no entry points.
    lw_status load(PFN_vkGetInstanceProcAddr given);
    lw_status load_instance(VkInstance instance);
    lw_status load_device(VkDevice device);
    void unload();

private:
    PFN_vkGetInstanceProcAddr find_ = nullptr;
    void *library_ = nullptr;
};

} // namespace longwave::runtime::vulkan
