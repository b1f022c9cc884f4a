// The seam between what a stream or runner means and what computes it: everything that touches the memory of
// a state, a cache or an arena goes through these few functions, and no pointer into that memory comes out of
// them.
//
// A device keeps a model (weights, derived space, one immutable program for each entry, shared by all) and
// sessions (the memory of one stream or runner and what its calls write). Movement between blocks is data,
// offsets and scalars computed from block numbers, so that a device may record a block once and replay it.
#pragma once
#include "formats/artifact/view.h"
#include "longwave/longwave.h"
#include "runtime/core/code.h"
#include <cstdint>

namespace longwave::runtime {

class ThreadPool;
struct DeviceModel; // of a device; opaque outside of it
struct Session;     // likewise: state, caches and arena of one stream or runner

struct Device;

// What a device makes a model of; it must outlive the model.
struct ModelSource {
    const artifact::View *view = nullptr;
    const fb::CodeVariant *variant = nullptr; // of `functions`; null only without kernels
    const Function *functions = nullptr;      // one a kernel
    const lw_allocator *allocator = nullptr;
    // That was asked for, beside which the CPU has its parts of mixed entries; null: the CPU alone.
    const lw_device *device = nullptr;
    const Device *cpu = nullptr; // what may prepare the model for another
};

// Bytes that open takes from the allocator: for as long as the model lives, and while it is prepared.
struct ModelNeeds {
    uint64_t kept = 0, passing = 0;
};

// Bytes of a space. The cache is that of one stream entry, named by its index in the plan.
struct Area {
    fb::Space space = fb::Space::state;
    uint32_t entry = 0;
    uint64_t offset = 0, bytes = 0;
};

// Values from outside on their way to an input port.
struct Samples {
    const void *data;
    lw_format format;
    uint64_t rows;
    uint32_t width;
    float limit; // values beyond ± this become 0 and are counted
};

// Lengths of a run, in input ticks; of a stream, what its reader wants (fb::ScalarKind::margin). How much of it.
struct Extent {
    uint64_t rows = 0;
    const uint64_t *lengths = nullptr; // for each input
    uint32_t margin = 0;               // 0: everything
    // The steps to run, for who has the CPU run parts of a mixed entry; all else runs all of them.
    uint32_t first = 0, last = UINT32_MAX;
};

// Where a place begins in firing f.
inline uint64_t offset_of(const fb::Place &place, uint64_t firing) {
    return place.offset() +
           (place.slots() > 1 ? (firing + place.slot_add()) % place.slots() : 0) * place.slot_bytes();
}

inline bool of_cpu(const fb::Entry &entry) { return entry.device() == fb::DeviceKind::cpu; }

// For messages.
inline const char *name_of(const fb::Step *step) {
    return step->name() ? step->name()->c_str() : "unnamed step";
}

// Failures leave a detail for lw_last_error.
struct Device {
    fb::DeviceKind kind; // the entries it runs

    // ---- models
    ModelNeeds (*needs)(const ModelSource &source);
    // Builds programs and derived space, and runs `prepare`. Nothing is left behind by a failure.
    lw_status (*open)(const ModelSource &source, DeviceModel **out);
    void (*close)(DeviceModel *model);
    // Null where it does not lie in this process.
    const uint8_t *(*derived)(const DeviceModel &model);

    // ---- sessions: the entries of one kind over one state (stream) or none (run)
    uint64_t (*session_bytes)(const ModelSource &source, fb::EntryKind kind, uint32_t workers);
    // In memory of that size, 64-aligned. The contents of state, caches and arena are undefined.
    lw_status (*begin)(const DeviceModel &model, fb::EntryKind kind, uint32_t workers, uint8_t *memory,
                       Session **out);
    void (*end)(Session *session);

    // ---- memory of a session
    void (*clear)(Session &session, const Area &area);
    void (*copy)(Session &to, const Session &from, const Area &area); // both of one model
    void (*write)(Session &session, const Area &area, const uint8_t *from);
    // `rows` pieces of area.bytes, `stride` apart on the device and `to_stride` apart at `to`.
    void (*read)(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride);
    // Converts samples to rows `stride` apart from area.offset on. Returns how many values were taken as 0.
    uint64_t (*put)(Session &session, const Area &area, uint64_t stride, const Samples &samples);

    // ---- work
    // Every step of the entry that fires in `block` (0 for runs). `crew`: threads that may help, as many as the
    // session has workers; null: none. But for the CPU, a stream's is put down, LW_OK, and run by settle.
    lw_status (*run)(Session &session, uint32_t entry, uint64_t block, const Extent &extent, ThreadPool *thread_pool);
    // One firing of one of the entry's rebuild steps.
    lw_status (*rebuild)(Session &session, uint32_t entry, uint32_t step, uint64_t firing);
    // Of streams. Runs the blocks that were put down, this session's and all others' of its model, and says how this
    // one fared, the functions of its memory since the last time included.
    lw_status (*settle)(Session &session);
};

} // namespace longwave::runtime

// What a library that adds a device hands out; its own data lie behind it.
struct lw_device {
    static constexpr uint64_t seam = 3; // raised with every change to what is above
    uint64_t version;
    const longwave::runtime::Device *calls;
    mutable lw_stream *streams = nullptr; // made on it: a list that the core keeps (stream.h)
};
