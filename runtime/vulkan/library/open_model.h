// Opening and closing a model on a GPU.
#pragma once
#include "runtime/vulkan/model/model.h"

namespace longwave::runtime::vulkan {

ModelNeeds model_needs(const ModelSource &source);
lw_status open_model(const ModelSource &source, DeviceModel **out);
void close_model(DeviceModel *model);

} // namespace longwave::runtime::vulkan
