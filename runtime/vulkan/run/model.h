// A model on a GPU: its weights, what was derived from them, and its kernels.
#pragma once
#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/device/pipelines.h"
#include "runtime/vulkan/stream/stream_family.h"

namespace longwave::runtime::vulkan {

struct Model {
    ModelSource source;
    Block memory; // holds the model itself
    Block code;   // a copy of its modules: a mapped file could change under them
    artifact::ModulesView modules;
    Pipelines pipelines;
    DeviceBuffer weights, derived;
    mutable StreamFamily streams;        // changed by streams alone, which belong to one thread
    DeviceModel *cpu_layers = nullptr; // for its part in runs (fall_back.h)

    const Gpu &gpu() const { return gpu_of(source.device); }
    const fb::Plan &plan() const { return source.view->plan(); }
};

ModelNeeds model_needs(const ModelSource &source);
lw_status open_model(const ModelSource &source, DeviceModel **out);
void close_model(DeviceModel *model);

inline const Model &model_of(const DeviceModel &model) { return reinterpret_cast<const Model &>(model); }

} // namespace longwave::runtime::vulkan
