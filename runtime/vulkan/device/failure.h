// What went wrong on a device: a status of the interface, and one line for lw_last_error.
#pragma once
#include "longwave/longwave.h"
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace longwave::runtime::vulkan {

// Keeps the formatted line and returns `status`.
__attribute__((format(printf, 2, 3))) lw_status fail(lw_status status, const char *format, ...);

// LW_OK for VK_SUCCESS; else the status that says it best and a line that names the call.
lw_status check(VkResult result, const char *call);

} // namespace longwave::runtime::vulkan

// Returns from the function at hand when the call fails.
#define LW_VK(table, call, ...)                                                                              \
    if (lw_status failed_ = longwave::runtime::vulkan::check((table).call(__VA_ARGS__), #call)) return failed_
