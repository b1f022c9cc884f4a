// The memory of one stream on a GPU, and the block that it waits for. The scheduler of the stream
// is held (StreamHold) during every function here.
#pragma once
#include "runtime/vulkan/model/session.h"
#include "runtime/vulkan/stream/stream_family.h"

namespace longwave::runtime::vulkan {

struct Pool;
struct StreamScheduler;

struct StreamSession : SessionHeader {
    StreamSession() : SessionHeader(fb::EntryKind::stream) {}

    StreamScheduler *scheduler = nullptr;
    Pool *pool = nullptr;
    uint32_t place = 0; // in the pool
    // Input that waits in the pool's exchange buffer for the next submission: its bytes, and where
    // in the state it goes.
    uint64_t staged_from = 0, staged_bytes = 0;
    bool enqueued = false;   // a block waits to run
    bool has_output = false; // the rows of the newest block are in the exchange buffer
    uint32_t entry = 0;      // of that block
    uint64_t block = 0;
    lw_status status = LW_OK; // the first failure since wait_stream
    StreamSession *next = nullptr; // in the scheduler's list, or in a group of blocks (blocks.cc)
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

// Records the copy of the staged input into the state.
void record_input(const StreamSession &session, VkCommandBuffer commands);
// Where the rows of an output of the newest block lie in the exchange buffer.
uint64_t output_at(const StreamSession &session, uint32_t port);

} // namespace longwave::runtime::vulkan
