// A model on a GPU: its weights, derived tables and kernels. Nothing in it changes once it is open.
#pragma once
#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/device/pipelines.h"

namespace longwave::runtime::vulkan {

// Weights and derived tables on a GPU: of each space the part that its steps read. The rest is for
// the CPU, which packs a spectrum or a matrix in another order.

struct DeviceTable {
    DeviceBuffer memory;
    uint64_t begin = 0; // the first byte of the space that `memory` has
};

struct Range {
    uint64_t begin = 0, bytes = 0; // 0 bytes: nothing is read
};
// From the first to behind the last byte that steps of the GPU read. `begin` is as aligned as
// descriptors must be.
Range range_read(const fb::Plan &plan, fb::Space space);

lw_status fill_table(const Gpu &gpu, const Range &range, const uint8_t *space, const char *what,
                     DeviceTable *table);

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

// The common beginning of every session of this library. library/calls.cc reads `kind` to find the
// session's type.

struct SessionHeader {
    const fb::EntryKind kind; // run: RunSession; stream: StreamSession
    const Model *model = nullptr;

    explicit SessionHeader(fb::EntryKind k) : kind(k) {}
    const Gpu &gpu() const { return model->gpu(); }
};

// The core hands sessions out as runtime::Session, which has no definition here.
inline SessionHeader &header_of(Session &session) { return reinterpret_cast<SessionHeader &>(session); }
inline const SessionHeader &header_of(const Session &session) {
    return reinterpret_cast<const SessionHeader &>(session);
}
inline Session *handle_of(SessionHeader &session) { return reinterpret_cast<Session *>(&session); }

} // namespace longwave::runtime::vulkan
