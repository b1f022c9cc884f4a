// Streams on a GPU: their memory, in pools, and blocks of many of them together. stream_family.h says how it lies.
#pragma once
#include "runtime/vulkan/run/model.h"

namespace longwave::runtime::vulkan {

// The memory of one stream, and the block that it waits for.
struct StreamSession {
    bool stream = true; // no RunSession (session.h)
    const Model *model = nullptr;
    Pool *pool = nullptr;
    uint32_t place = 0;
    // Input on its way into the state, which lies in the pool's exchange buffer until the next submission.
    uint64_t staged_from = 0, staged_bytes = 0;
    bool waiting = false; // its block was put down
    bool brought = false; // outputs of the block lie in the exchange buffer
    uint32_t entry = 0;   // of the block
    uint64_t block = 0;
    lw_status status = LW_OK; // the first failure since it was asked for
    StreamSession *next = nullptr;

    const Gpu &gpu() const { return model->gpu(); }
};

// Memory of up to `capacity` streams of a model.
struct Pool {
    Block memory; // holds this and what follows
    Pool *next = nullptr;
    uint32_t capacity = 0, used = 0;
    StreamSession **sessions = nullptr; // of each place; null: it is free
    // Of each dispatch of the family: where its table lies in `exchange`, its descriptors.
    uint64_t *numbers_at = nullptr;
    VkDescriptorSet *sets = nullptr;
    // Of each recording of the family: block mod period that it is of, UINT64_MAX while there is none.
    VkCommandBuffer *recorded = nullptr;
    uint64_t *pattern_of = nullptr;
    // In `exchange`: workgroups of each dispatch; what the first stream brings and takes; transfers.
    uint64_t groups_at = 0, staging_at = 0, transfers_at = 0;
    DeviceBuffer device, exchange;
    VkDescriptorPool descriptors = VK_NULL_HANDLE;
    Commands commands;

    uint64_t at(const Part &part, uint32_t place) const {
        return part.before * capacity + place * part.bytes;
    }
    uint64_t staging(const StreamFamily &family, uint32_t place) const {
        return staging_at + place * (family.in_bytes + family.out_bytes);
    }
    void destroy(const Gpu &gpu, const lw_allocator &allocator);
};

// Bytes of one transfer of state from or to the host.
inline constexpr uint64_t transfer_bytes = 256u << 10;

// ---- stream_pool.cc ----
// A place for one more stream, in a pool that has one or that grows, or in a new one.
lw_status take_place(const Model &model, StreamSession &session);
void give_place(StreamSession &session);

// ---- stream_blocks.cc ----
// Runs the blocks that were put down. How each fared stands in its session.
void run_waiting(const Model &model);
lw_status rebuild_stream(StreamSession &session, uint32_t entry, uint32_t step, uint64_t firing);

// ---- stream_session.cc: as device.h says ----
uint64_t stream_bytes();
lw_status begin_stream(const Model &model, uint8_t *memory, Session **out);
void end_stream(StreamSession &session);
void clear_stream(StreamSession &session, const Area &area);
void copy_stream(StreamSession &to, const StreamSession &from, const Area &area);
void write_stream(StreamSession &session, const Area &area, const uint8_t *from);
void read_stream(StreamSession &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride);
uint64_t put_stream(StreamSession &session, const Area &area, uint64_t stride, const Samples &samples);
lw_status run_stream(StreamSession &session, uint32_t entry, uint64_t block);
lw_status settle_stream(StreamSession &session);
// Whether what was submitted before is done.
lw_status check_idle(const Gpu &gpu, Commands &commands);
// Begins the pool's commands, when it is.
lw_status begin_commands(const Gpu &gpu, Commands &commands);
// The staged input into the state, in a command buffer that has begun.
void record_input(const StreamSession &session, VkCommandBuffer commands);
// Where a port's rows of this block lie in the exchange buffer.
uint64_t output_at(const StreamSession &session, uint32_t port);

} // namespace longwave::runtime::vulkan
