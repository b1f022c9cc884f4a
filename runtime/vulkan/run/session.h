// The memory of one runner on a GPU, and the command buffers of its run entries. The CPU's parts of
// mixed entries run in a session of the CPU (host_side.h). Its arena then holds the inputs and
// outputs of the entry.
#pragma once
#include "runtime/vulkan/model/model.h"
#include "runtime/vulkan/run/host_side.h"

namespace longwave::runtime::vulkan {

// One port in the memory that host and device share.
struct Port {
    const fb::Place *place = nullptr;
    uint64_t offset = 0, bytes = 0; // in the session's exchange buffer
};

// A maximal range of consecutive steps on one device: the GPU in one submission, or the CPU.
struct DeviceSegment {
    uint32_t first = 0, last = 0; // steps [first, last)
    bool cpu = false;
    VkCommandBuffer commands = VK_NULL_HANDLE;
};

// The command buffers of a run entry.
struct Recording {
    const fb::Entry *entry = nullptr; // null: an entry of another device
    bool mixed = false;
    bool fp16 = false; // some kernel stores float16 and reports values that float16 cannot hold
    Commands commands;
    DeviceSegment *device_segments = nullptr; // of a mixed entry; else one
    uint32_t n_segments = 0;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSet *sets = nullptr; // of each step; only calls have one
    // Of each step: its scalars in the buffer of scalars, or its transfer in the exchange buffer.
    uint64_t *exchanged = nullptr;
    Port *inputs = nullptr, *outputs = nullptr;
    uint32_t n_inputs = 0, n_outputs = 0;
    bool depends_on_rows = false;       // it clears rows after the end of the sequence
    uint64_t recorded_for = UINT64_MAX; // rows; UINT64_MAX: not recorded
    uint32_t dispatches = 0, fills = 0, submissions = 0;
    uint64_t transferred = 0; // bytes
};

// The buffer of scalars begins with a row of zeros: kernels made for many streams use it as their
// table in a run.
inline constexpr uint64_t zeros_bytes = 512;
// The exchange buffer begins with a word that kernels set when they store a value that float16
// cannot hold.
inline constexpr uint64_t overflow_bytes = place_alignment;

struct RunSession : SessionHeader {
    RunSession() : SessionHeader(fb::EntryKind::run) {}

    DeviceBuffer arena;
    DeviceBuffer scalars; // the CPU writes them and the device reads them
    // Inputs, outputs, and the transfers of mixed entries.
    DeviceBuffer exchange;
    bool in_place = false;           // the host reads and writes inputs and outputs in the arena, uncopied
    Recording *recordings = nullptr; // of each entry
    HostSide host_side;

    DeviceBuffer buffer_of(fb::Space space) const;
};

inline Area area_of(const fb::Place &place, uint32_t entry, uint64_t bytes) {
    return {place.space(), entry, offset_of(place, 0), bytes};
}

// ---- recording.cc ----
// Makes the descriptor sets of every call.
lw_status create_sets(const RunSession &session, Recording &recording);
// Records the entry for a sequence of `rows` ticks.
lw_status record(const RunSession &session, Recording &recording, uint64_t rows);
// Records one step of the GPU, `times` in a row, in a command buffer of its own.
lw_status record_step(const RunSession &session, Recording &recording, Commands &commands, uint32_t step,
                      uint32_t times);
// Writes the scalars of a run where the kernels read them.
void put_scalars(const RunSession &session, const Recording &recording, const Extent &extent);
// Number of int32 scalars of a step on the GPU.
uint32_t scalars_of(const fb::Plan &plan, const fb::Step &step);

// ---- segments.cc ----
const Device &cpu_of(const RunSession &session);
// Runs the segments in order, with the transfers between them.
lw_status run_segments(const RunSession &session, uint32_t entry, const Extent &extent,
                       ThreadPool *thread_pool);

// ---- session.cc: as runtime/core/device.h says ----
uint64_t run_session_bytes(const ModelSource &source, uint32_t workers);
uint64_t run_device_bytes(const fb::Plan &plan);
lw_status begin_run_session(const Model &model, uint32_t workers, uint8_t *memory, Session **out);
void end_run_session(RunSession &session);
void clear_input(RunSession &session, const Area &area);
void write_input(RunSession &session, const Area &area, const uint8_t *from);
uint64_t put_input(RunSession &session, const Area &area, uint64_t stride, const Samples &samples);
void read_output(const RunSession &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride);
lw_status run_entry(RunSession &session, uint32_t entry, const Extent &extent, ThreadPool *thread_pool);

} // namespace longwave::runtime::vulkan
