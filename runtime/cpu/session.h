// What the CPU keeps of a model and of a session.
#pragma once
#include "runtime/core/memory.h"
#include "runtime/cpu/program.h"

namespace longwave::runtime {

// A model: one block with kernels, their dimensions and the programs, and the derived space.
struct DeviceModel {
    ModelSource source;
    Block tables, derived;
    Kernel *kernels = nullptr;
    Program *steps = nullptr, *rebuild = nullptr; // of each entry

    const fb::Plan &plan() const { return source.view->plan(); }
};

// What one thread of a session writes besides the session's memory.
struct Worker {
    Scratch scratch;
    Frame *frames = nullptr; // of each entry
};

struct Session {
    const DeviceModel *model = nullptr;
    uint8_t *state = nullptr, *arena = nullptr;
    uint8_t *newest = nullptr;  // the arena of the newest block: its own, or one of a batch
    uint8_t **caches = nullptr; // of each entry
    Worker *workers = nullptr;
    Frame *rebuild = nullptr; // of each entry
};

inline Spaces spaces_of(const Session &session, uint32_t entry, uint8_t *arena) {
    const DeviceModel &model = *session.model;
    Spaces spaces;
    // Kernels take their inputs through the same descriptor as their outputs; V12 keeps every
    // output out of the weights.
    spaces[fb::Space::weights] = const_cast<uint8_t *>(model.source.view->weights().data);
    spaces[fb::Space::derived] = model.derived.data;
    spaces[fb::Space::state] = session.state;
    spaces[fb::Space::arena] = arena;
    spaces[fb::Space::cache] = session.caches[entry];
    return spaces;
}

} // namespace longwave::runtime
