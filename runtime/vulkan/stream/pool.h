// Memory of many streams of one scheduler. A full pool doubles, by a copy on the device, up to
// StreamFamily::most streams; then the scheduler makes another one. stream_family.h says how
// streams lie in it. Taking and giving a place look at one pool and one place, however many there
// are.
#pragma once
#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/stream/stream_family.h"
#include "runtime/vulkan/stream/stream_session.h"

namespace longwave::runtime::vulkan {

// A kernel call or a transfer, for all streams of the pool at once.
struct Dispatch {
    uint64_t table_at = 0;  // of its table, one row per stream, in the pool's tables
    uint64_t groups_at = 0; // of its numbers of workgroups, likewise
    VkDescriptorSet set = VK_NULL_HANDLE;
};

// What one submission of blocks uses. A pool has several, so that the host prepares one while the
// device works on another.
struct Frame {
    uint64_t submission = 0;       // the number of its newest one in the pool, from 1
    bool waited = true;            // for that one, and its blocks know how it ended
    Dispatch *calls = nullptr;     // as StreamFamily::calls
    Dispatch *transfers = nullptr; // as StreamFamily::transfers
    // Of each recording of the family: the block modulo the period that it holds; UINT64_MAX: none.
    VkCommandBuffer *recorded = nullptr;
    uint64_t *pattern_of = nullptr;
    Commands commands;
};

struct Pool {
    Block memory;                           // holds the pool itself and its arrays
    Pool *next = nullptr, **link = nullptr; // in a list of the scheduler; *link is this pool
    uint32_t capacity = 0, used = 0;
    uint32_t *free = nullptr;           // the first capacity - used of them are the free places
    StreamSession **sessions = nullptr; // of each place; null: the place is free
    Frame frames[most_blocks_in_flight];
    uint64_t submissions = 0; // of blocks so far
    // In `exchange`: what the blocks of the first stream take and bring; room for one copy of state
    // from or to the host.
    uint64_t staging_at = 0, state_copies_at = 0;
    // The memory of the streams; tables and numbers of workgroups, which the CPU writes and the
    // device reads in every dispatch; what both exchange.
    DeviceBuffer device, tables, exchange;
    VkDescriptorPool descriptors = VK_NULL_HANDLE;
    Commands commands; // for all but blocks

    uint64_t at(const Part &part, uint32_t place) const {
        return part.before * capacity + place * part.bytes;
    }
    // `block`: which of those that a stream may have in flight.
    uint64_t staging(const StreamFamily &family, uint32_t place, uint32_t block) const {
        return staging_at + place * family.staging_bytes() + block * (family.in_bytes + family.out_bytes);
    }
    // The frame of the next submission: the first that is free, so that blocks that are waited for one
    // by one need a single recording. None is free: the one that was submitted first.
    Frame &next_frame();
    bool has_room(const StreamFamily &family) const { return used < capacity || capacity < family.most; }
    void destroy(const Gpu &gpu, const lw_allocator &allocator);
};

// The most bytes of state that one copy from or to the host moves.
inline constexpr uint64_t state_copy_bytes = 256u << 10;

// What the first stream of a model takes: a scheduler, and a pool of one place on the host and on
// the device.
uint64_t first_stream_bytes(const Model &model);
// A place for the stream in a pool of its scheduler: a free one, a grown pool or a new one.
lw_status take_place(StreamSession &session);
void give_place(StreamSession &session);

// Waits for a submission of blocks. Its blocks learn of a failure.
void wait_for(const Gpu &gpu, Pool &pool, uint64_t submission);
// LW_OK: the device has finished what these submitted last.
lw_status check_idle(const Gpu &gpu, Commands &commands);
// Begins the pool's own command buffer, after check_idle and after the blocks that are in flight.
lw_status begin_commands(const Gpu &gpu, Commands &commands);

} // namespace longwave::runtime::vulkan
