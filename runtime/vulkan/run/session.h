// The memory of one runner on a GPU, and the command buffers of the run entries. Parts of mixed entries are the
// processor's: they run in a session of it (fall_back.h), in whose arena the entry's inputs and outputs lie.
#pragma once
#include "runtime/vulkan/run/host_side.h"
#include "runtime/vulkan/run/model.h"

namespace longwave::runtime::vulkan {

// One port in the memory that host and device share.
struct Port {
    const fb::Place *place = nullptr;
    uint64_t offset = 0, bytes = 0; // in the session's exchange buffer
};

// Steps of an entry that one side runs after the other: the device in one submission, or the CPU.
struct Piece {
    uint32_t first = 0, last = 0; // [first, last)
    bool cpu = false;
    VkCommandBuffer commands = VK_NULL_HANDLE;
};

// A run entry recorded. What it exchanges with the host lies in one mapped buffer: its scalars, its inputs, its
// outputs, and what a mixed one moves.
struct Recording {
    const fb::Entry *entry = nullptr; // null: of another device
    bool mixed = false;
    bool halves = false; // some kernel stores float16, and tells of values that it does not hold
    Commands commands;
    Piece *pieces = nullptr; // of a mixed entry; else one
    uint32_t n_pieces = 0;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSet *sets = nullptr; // of each step; calls have one
    uint64_t *scalars =
        nullptr; // of each step: where its scalars, or what it moves, lie in the exchange buffer
    Port *inputs = nullptr, *outputs = nullptr;
    uint32_t n_inputs = 0, n_outputs = 0;
    bool depends_on_rows = false;       // it clears behind the end of the sequence
    uint64_t recorded_for = UINT64_MAX; // rows; UINT64_MAX: it has not been recorded
    uint32_t dispatches = 0, fills = 0, submissions = 0;
    uint64_t moved = 0; // bytes
};

// At the beginning of the exchange buffer: the row of zeros that kernels made for many streams find in a run.
inline constexpr uint64_t zeros_bytes = 512;
// Behind it the word that kernels set which store a value beyond float16.
inline constexpr uint64_t overflow_at = zeros_bytes, exchanged_from = overflow_at + place_alignment;

struct RunSession {
    bool stream = false; // no StreamSession (streams.h)
    const Model *model = nullptr;
    DeviceBuffer arena, exchange;
    Recording *recordings = nullptr; // of each entry
    FallBack fall_back;

    const Gpu &gpu() const { return model->gpu(); }
    DeviceBuffer buffer_of(fb::Space space) const;
};

inline Area area_of(const fb::Place &place, uint32_t entry, uint64_t bytes) {
    return {place.space(), entry, offset_of(place, 0), bytes};
}

// ---- recording.cc ----
// Descriptor sets of every call.
lw_status create_sets(const RunSession &session, Recording &recording);
// Records the entry for a sequence of so many rows.
lw_status record(const RunSession &session, Recording &recording, uint64_t rows);
// One step of the device alone, `times` in a row, in a command buffer of its own.
lw_status record_step(const RunSession &session, Recording &recording, Commands &commands, uint32_t step,
                      uint32_t times);
// The scalars of a run, where the kernels read them.
void put_scalars(const RunSession &session, const Recording &recording, const Extent &extent);
// Scalars of a step on the device: each int32.
uint32_t scalars_of(const fb::Plan &plan, const fb::Step &step);

// ---- pieces.cc ----
const Device &cpu_of(const RunSession &session);
// One after the other, each where it belongs, and what crosses between them.
lw_status run_pieces(const RunSession &session, uint32_t entry, const Extent &extent, ThreadPool *thread_pool);

// ---- session.cc: as device.h says ----
uint64_t session_bytes(const ModelSource &source, fb::EntryKind kind, uint32_t workers);
lw_status begin_session(const DeviceModel &model, fb::EntryKind kind, uint32_t workers, uint8_t *memory,
                        Session **out);
void end_session(Session *session);
void clear(Session &session, const Area &area);
void write(Session &session, const Area &area, const uint8_t *from);
void read(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
          uint64_t to_stride);
uint64_t put(Session &session, const Area &area, uint64_t stride, const Samples &samples);
lw_status run(Session &session, uint32_t entry, uint64_t block, const Extent &extent, ThreadPool *thread_pool);

} // namespace longwave::runtime::vulkan
