// The table of functions through which the core uses a GPU (runtime/core/device.h).
#pragma once
#include "runtime/core/device.h"
#include "runtime/vulkan/model/model.h"

namespace longwave::runtime::vulkan {

extern const Device calls;

// Opening and closing a model on a GPU.

ModelNeeds model_needs(const ModelSource &source);
lw_status open_model(const ModelSource &source, DeviceModel **out);
void close_model(DeviceModel *model);

} // namespace longwave::runtime::vulkan
