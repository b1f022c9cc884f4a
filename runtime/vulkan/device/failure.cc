#include "runtime/vulkan/device/failure.h"
#include <stdarg.h>
#include <stdio.h>

namespace longwave::runtime::vulkan {

lw_status fail(lw_status status, const char *format, ...) {
    char line[256];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    lw_set_last_error(line);
    return status;
}

lw_status check(VkResult result, const char *call) {
    switch (result) {
    case VK_SUCCESS: return LW_OK;
    case VK_TIMEOUT: return fail(LW_TIMEOUT, "the GPU did not finish in time (%s)", call);
    case VK_ERROR_DEVICE_LOST: return fail(LW_DEVICE_LOST, "the GPU was lost (%s)", call);
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return fail(LW_NO_MEMORY, "the Vulkan driver has no memory of the process (%s)", call);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS: return fail(LW_NO_MEMORY, "the GPU has no memory left (%s)", call);
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return fail(LW_NO_DEVICE, "there is no Vulkan driver (%s): install one (Debian: mesa-vulkan-drivers)",
                    call);
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return fail(LW_UNSUPPORTED, "the GPU or its driver lacks a feature (%s: %d)", call, result);
    default: return fail(LW_DEVICE, "the Vulkan driver failed (%s: %d)", call, result);
    }
}

} // namespace longwave::runtime::vulkan
