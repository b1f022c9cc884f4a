// A model on a GPU: its weights, derived tables and kernels. Nothing in it changes once it is open.
#pragma once
#include "runtime/vulkan/device/pipelines.h"
#include "runtime/vulkan/model/tables.h"

namespace longwave::runtime::vulkan {

struct StreamFamily;     // runtime/vulkan/stream/stream_family.h
struct StreamSchedulers; // runtime/vulkan/stream/scheduler.h

struct Model {
    ModelSource source;
    Block memory; // holds the model itself
    Block code;   // a copy of the modules, because a mapped file could change
    artifact::ModulesView modules;
    Pipelines pipelines;
    DeviceTable weights, derived;
    const StreamFamily *family = nullptr;   // layout and calls that all streams of the model share
    StreamSchedulers *schedulers = nullptr; // the streams that exist; has its own locks
    DeviceModel *cpu_layers = nullptr;      // the CPU's part in runs (host_side.h)

    // Of weights and derived tables; null for the spaces of runs and streams.
    const DeviceTable *table(fb::Space space) const {
        if (space == fb::Space::weights) return &weights;
        return space == fb::Space::derived ? &derived : nullptr;
    }
    const Gpu &gpu() const { return gpu_of(source.device); }
    const fb::Plan &plan() const { return source.view->plan(); }
};

inline const Model &model_of(const DeviceModel &model) { return reinterpret_cast<const Model &>(model); }

} // namespace longwave::runtime::vulkan
