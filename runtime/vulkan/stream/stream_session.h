// The memory of one stream on a GPU, and the blocks that it waits for. The scheduler of the stream
// is held (StreamHold) during every function here.
#pragma once
#include "runtime/vulkan/model/model.h"
#include "runtime/vulkan/stream/stream_family.h"

namespace longwave::runtime::vulkan {

struct Pool;
struct StreamScheduler;

// A block in the exchange buffer. It begins with the first piece of its input there. When it has
// been waited for, its outputs lie there.
struct StreamBlock {
    uint64_t staged_from = 0, staged_bytes = 0; // the input, and where in the state it goes
    uint32_t entry = 0;
    uint64_t block = 0;
    uint64_t submission = 0; // of the pool; 0: none
    lw_status status = LW_OK;
};

struct StreamSession : SessionHeader {
    StreamSession() : SessionHeader(fb::EntryKind::stream) {}

    StreamScheduler *scheduler = nullptr;
    Pool *pool = nullptr;
    uint32_t place = 0; // in the pool
    // A ring: the block whose outputs can be read (has_output), those that are enqueued or in
    // flight, and the one whose input comes in.
    StreamBlock blocks[most_blocks_in_flight];
    uint32_t oldest = 0, n_begun = 0; // of those that are enqueued or in flight
    bool enqueued = false;            // the newest of them waits for a submission
    bool has_output = false;          // of the block before the oldest
    lw_status status = LW_OK;         // the first failure since wait_stream
    StreamSession *next = nullptr;    // in the scheduler's list, or in a group of blocks (blocks.cc)

    uint32_t wrap(uint32_t block) const { return block % most_blocks_in_flight; }
    uint32_t newest() const { return wrap(oldest + n_begun + most_blocks_in_flight - 1); }
    uint32_t read_from() const { return wrap(oldest + most_blocks_in_flight - 1); }
    StreamBlock &coming_in() { return blocks[wrap(oldest + n_begun)]; }
    const StreamBlock &coming_in() const { return blocks[wrap(oldest + n_begun)]; }
};

// ---- as runtime/core/device.h says ----
void clear_stream(StreamSession &session, const Area &area);
void copy_stream(StreamSession &to, StreamSession &from, const Area &area);
void write_stream(StreamSession &session, const Area &area, const uint8_t *from);
void read_stream(StreamSession &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride);
uint64_t put_stream(StreamSession &session, const Area &area, uint64_t stride, const Samples &samples);
lw_status enqueue_stream(StreamSession &session, uint32_t entry, uint64_t block);
lw_status wait_stream(StreamSession &session);

// Records the copy of the input that came in so far into the state.
void record_input(const StreamSession &session, VkCommandBuffer commands);
// Where the rows of an output of one of its blocks lie in the exchange buffer.
uint64_t output_at(const StreamSession &session, uint32_t block, uint32_t port);

} // namespace longwave::runtime::vulkan
