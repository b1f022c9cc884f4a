// What is asked of a device before a model runs on it: arithmetic that every kernel counts on. A
// device that fails is refused by name. Golden vectors check a model afterwards (self_check.cc).
#pragma once
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

// LW_DEVICE_WRONG names the device and what it computed wrongly: sums of 10^5 terms that keep what
// they round off, numbers near zero, infinity, NaN. Where float16 stores are rounded otherwise than
// to nearest, `gpu` loses them, and only models that need them are refused. A process
// tests each device once.
lw_status self_test(Gpu &gpu);

} // namespace longwave::runtime::vulkan
