// The table of functions through which the core uses a GPU (runtime/core/device.h).
#pragma once
#include "runtime/core/device.h"

namespace longwave::runtime::vulkan {

extern const Device calls;

} // namespace longwave::runtime::vulkan
