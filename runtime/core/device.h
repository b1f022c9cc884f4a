// The device interface: what the runtime asks of whatever computes a model. All access to the
// memory of a state, a cache or an arena goes through these functions, and no pointer into that
// memory comes out of them.
//
// A device keeps models (weights, derived tables, one immutable program per entry, shared by all)
// and sessions (the memory of one stream or runner, and what its calls write). Data moves between
// blocks by offsets and scalars that follow from block numbers, so a device may record a block once
// and replay it.
//
// A library that adds a device implements this table, keeps lw_device::interface_version equal and
// reports its failures with lw_set_last_error. The core neither loads nor knows the library.
#pragma once
#include "formats/artifact/view.h"
#include "longwave/longwave.h"
#include "runtime/core/code.h"
#include <atomic>
#include <cstdint>

namespace longwave::runtime {

class ThreadPool;
struct DeviceModel; // opaque outside of its device
struct Session;     // opaque outside of its device: state, caches and arena of one stream or runner
struct Batch;       // opaque outside of its device: where several streams run side by side

struct Device;

// What a device opens a model from. Must outlive the model.
struct ModelSource {
    const artifact::View *view = nullptr;
    const fb::CodeVariant *variant = nullptr; // of `functions`; null only without kernels
    const Function *functions = nullptr;      // one per kernel
    const lw_allocator *allocator = nullptr;
    const lw_device *device = nullptr; // lw_open_options.device; null: the CPU alone
    const Device *cpu = nullptr;       // prepares derived tables and runs the CPU's part of mixed entries
};

// Bytes that `open` takes from the allocator and on the device: until the model is closed, and
// during `open` only.
struct ModelNeeds {
    uint64_t kept = 0, passing = 0;
};

// A range of bytes of a space. `entry`: index in the plan of the entry whose cache it is.
struct Area {
    fb::Space space = fb::Space::state;
    uint32_t entry = 0;
    uint64_t offset = 0, bytes = 0;
};

// Rows that the caller gives for an input port.
struct Samples {
    const void *data;
    lw_sample_format format;
    uint64_t rows;
    uint32_t width;
    float limit; // values beyond ± this become 0 and are counted
};

inline constexpr uint64_t endless = ~uint64_t{0};

// What one call of `run` covers.
struct Extent {
    uint64_t rows = 0; // of a run or of a finished stream, in input ticks; `endless`: of an open stream
    const uint64_t *lengths = nullptr;     // of a run, for each input: valid rows for pooling, in input ticks
    uint32_t first = 0, last = UINT32_MAX; // steps [first, last): the CPU's part of a mixed entry
};

// Offset of a place in firing f.
inline uint64_t offset_of(const fb::Place &place, uint64_t firing) {
    return place.offset() +
           (place.slots() > 1 ? (firing + place.slot_add()) % place.slots() : 0) * place.slot_bytes();
}

// A block of one stream among those that run together.
struct BatchMember {
    Session *session = nullptr;
    uint64_t block = 0;
    Extent extent;
};

inline bool of_cpu(const fb::Entry &entry) { return entry.device() == fb::DeviceKind::cpu; }

// For messages.
inline const char *name_of(const fb::Step *step) {
    return step->name() ? step->name()->c_str() : "unnamed step";
}

// A failing function keeps a detail for lw_last_error.
//
// What a session is for.
struct SessionKind {
    fb::EntryKind entries;
    uint32_t workers = 1;
    uint64_t most_block = UINT64_MAX; // of a stream: it runs no entry of a larger block
};

// Threads: models are used by several threads at once. A session belongs to one thread at a time.
// Sessions of one model may be used by different threads at the same time.
struct Device {
    fb::DeviceKind kind; // of the entries that it runs

    // ---- models
    ModelNeeds (*needs)(const ModelSource &source);
    // Builds programs and derived tables, and runs `prepare`. A failure leaves nothing behind.
    lw_status (*open)(const ModelSource &source, DeviceModel **out);
    void (*close)(DeviceModel *model);
    // The derived tables; null where this process cannot address them.
    const uint8_t *(*derived)(const DeviceModel &model);

    // ---- sessions: all entries of one kind over one state (stream) or none (run)
    uint64_t (*session_bytes)(const ModelSource &source, const SessionKind &kind);
    // In memory of that size, aligned to 64 bytes. State, caches and arena begin undefined.
    lw_status (*begin)(const DeviceModel &model, const SessionKind &kind, uint8_t *memory, Session **out);
    void (*end)(Session *session);

    // ---- memory of a session. A failure of these is kept until `wait` reports it.
    void (*clear)(Session &session, const Area &area);
    void (*copy)(Session &to, const Session &from, const Area &area); // streams of one model
    void (*write)(Session &session, const Area &area, const uint8_t *from);
    // `rows` times area.bytes bytes: `stride` apart on the device, `to_stride` apart at `to`.
    void (*read)(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride);
    // Converts samples to rows `stride` bytes apart, from area.offset on. Returns how many values
    // became 0.
    uint64_t (*put)(Session &session, const Area &area, uint64_t stride, const Samples &samples);

    // ---- work
    // Runs every step of the entry that fires in `block` (0 for runs). `thread_pool`: threads that
    // may help, as many as the session has workers; null: none. A device with `start`
    // enqueues the block of a stream and returns LW_OK.
    lw_status (*run)(Session &session, uint32_t entry, uint64_t block, const Extent &extent,
                     ThreadPool *thread_pool);
    // Runs one firing of one of the entry's rebuild steps.
    lw_status (*rebuild)(Session &session, uint32_t entry, uint32_t step, uint64_t firing);
    // Streams only. Waits for the session's oldest block, which it starts if need be. Then `read`
    // gives the outputs of that block, until a later one is waited for or enqueued. Returns this
    // session's first failure since the last wait.
    lw_status (*wait)(Session &session);

    // Bytes that a session takes in addition to session_bytes: on the device, and what lies beside
    // it on the host. For a stream as if it were the only one. Null: none.
    uint64_t (*own_bytes)(const DeviceModel &model, fb::EntryKind kind) = nullptr;
    // Streams only. Hands over the enqueued blocks, this session's and those that share a
    // submission with it, and does not wait. Up to most_blocks_in_flight of a session may be
    // enqueued before the first is waited for; with so many, `put` and `clear` may not be called.
    // Null: `run` computes each block at once, and it is waited for before the next one.
    void (*start)(Session &session) = nullptr;

    // ---- blocks of several streams at once, where each call reads the weights once for all of them.
    // Null: the device has its own way (`start`), or none.
    // Most streams that a call of the model serves; 1: no call serves several.
    uint32_t (*batch_streams)(const ModelSource &source) = nullptr;
    uint64_t (*batch_bytes)(const ModelSource &source) = nullptr;
    // In memory of that size, aligned to 64 bytes, which is the caller's.
    void (*begin_batch)(const DeviceModel &model, uint8_t *memory, Batch **out) = nullptr;
    // As `run` for each member, with the same bits; at most batch_streams of them, different ones. `read`
    // gives the outputs of a member until the next call or `run` of it.
    lw_status (*run_batch)(Batch &batch, uint32_t entry, const BatchMember *members, uint32_t n) = nullptr;
};

inline constexpr uint32_t most_blocks_in_flight = 2;

} // namespace longwave::runtime

// What a library that adds a device hands out. Its own data follow.
struct lw_device {
    static constexpr uint64_t interface_version = 8; // raised with every change to the declarations above
    uint64_t version;
    const longwave::runtime::Device *calls;
    // Streams with a whole block that push has left, or with blocks in flight, of all threads
    // (runtime/stream/flush.cc).
    mutable lw_stream *unflushed = nullptr;
    mutable std::atomic<bool> unflushed_locked{false};
};
