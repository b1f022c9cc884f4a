// The processor as a device: programs of kernel calls over memory of this process.
#pragma once
#include "runtime/device.h"

namespace longwave::runtime {

extern const Device cpu_device;

} // namespace longwave::runtime
