// The memory of one runner on a GPU, and the command buffers of the run entries.
#pragma once
#include "runtime/vulkan/fall_back.h"
#include "runtime/vulkan/model.h"

namespace longwave::runtime::vulkan {

// One port in the memory that host and device share.
struct Port {
    const fb::Place *place = nullptr;
    uint64_t offset = 0, bytes = 0; // in the session's exchange buffer
};

// A run entry recorded. What it exchanges with the host lies in one mapped buffer: its scalars, its inputs, its
// outputs.
struct Recording {
    const fb::Entry *entry = nullptr; // null: of another device
    Commands commands;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSet *sets = nullptr; // of each step; calls have one
    uint64_t *scalars = nullptr;     // of each step: where its scalars lie in the exchange buffer
    Port *inputs = nullptr, *outputs = nullptr;
    uint32_t n_inputs = 0, n_outputs = 0;
    bool depends_on_rows = false;       // it clears behind the end of the sequence
    uint64_t recorded_for = UINT64_MAX; // rows; UINT64_MAX: it has not been recorded
    uint32_t dispatches = 0, fills = 0;
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

// ---- recording.cc ----
// Descriptor sets of every call.
lw_status create_sets(const RunSession &session, Recording &recording);
// Records the entry for a sequence of so many rows.
lw_status record(const RunSession &session, Recording &recording, uint64_t rows);
// The scalars of a run, where the kernels read them.
void put_scalars(const RunSession &session, const Recording &recording, const Extent &extent);
// Scalars of a step: each int32.
uint32_t scalars_of(const fb::Plan &plan, const fb::Step &step);

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
lw_status run(Session &session, uint32_t entry, uint64_t block, const Extent &extent, Crew *crew);

} // namespace longwave::runtime::vulkan
