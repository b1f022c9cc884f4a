// The memory of a stream: one block with the object, the rows that wait, and its session on the
// device.
//
//   | lw_stream | StreamState | cache ticks | runs, rows | session: state, caches, arena, descriptors,
//   scratch |
//
// A saved state is StreamState, the fields of the state and the rows that wait. None of them holds
// an address.
//
// Order of the files here, each using those before it: queue, memory.h, caches, blocks, flush,
// state, stream.cc.
#pragma once
#include "longwave/longwave.h"
#include "runtime/core/entries.h"
#include "runtime/core/model.h"
#include "runtime/stream/queue.h"

namespace longwave::runtime {

enum class Life : uint32_t {
    open = 0,
    finished = 1, // no more input
    failed = 2    // a kernel failed; until reset, copy or load
};

struct StreamState {
    uint8_t identity[32]; // of the model (lw_model)
    uint64_t ticks;       // received
    // In blocks that have begun, with the zeros of a finished stream. Every position follows from it.
    uint64_t done;
    uint32_t pending; // received and in no block yet: less than the largest block, in the input ring
    Life life;
    uint64_t rows_dropped, non_finite, non_finite_outputs;
    uint64_t poisoned;   // bit i: the newest row of output i (63: or of a later one) was not finite
    uint32_t runs, rows; // saved bytes only: the rows that wait, after the fields
    uint64_t retired;    // 0; earlier versions may have written another number, which is ignored
    uint64_t checksum;   // saved bytes only (checksum_of); 0: earlier versions wrote none
    uint64_t reserved[2];
};
static_assert(sizeof(StreamState) == 128);

// A block that a device may still compute.
struct BegunBlock {
    const StreamEntry *entry;
    uint64_t block; // its number
};

} // namespace longwave::runtime

struct lw_stream {
    const lw_model *model;
    const longwave::runtime::StreamEntry *own;
    uint32_t users;      // the caller and its generators: it ends with the last of them
    bool owned;          // lw_stream_destroy releases it
    bool unchecked;      // it goes on from a state without a checksum
    bool held;           // a batch runs its next block: push leaves a full one pending
    uint64_t most_block; // its session has no entry of a larger block
    lw_sample_format format;
    uint64_t bytes;          // of the whole block
    uint64_t rows_per_block; // most rows one block can bring
    longwave::runtime::StreamState *state;
    uint64_t *cache_ticks; // of each stream entry: the tick that its cache is valid for, or `stale`
    longwave::runtime::Queue queue;
    longwave::runtime::Session *session;
    longwave::runtime::BegunBlock begun[longwave::runtime::most_blocks_in_flight]; // the oldest first
    uint32_t n_begun;  // their rows have room in the queue
    bool newest_later; // pull leaves the newest of them in flight: lw_device_submit began it
    // On a device (flush.cc): the list of unflushed streams, and the thread that flushes this one
    // (0: not in the list).
    lw_stream *next, **link; // *link is this stream
    uint64_t flushed_by;

    const longwave::runtime::Device &device() const { return *model->device; }
};

namespace longwave::runtime {

inline constexpr uint64_t stale = ~uint64_t{0};

inline const fb::Input &input_of(const lw_stream &stream) {
    return *stream.model->plan().inputs()->Get(stream.own->entry->inputs()->Get(0)->input());
}
inline uint32_t outputs(const lw_stream &stream) { return stream.own->entry->outputs()->size(); }

// Whether the stream can run the entry.
inline bool has(const lw_stream &stream, const StreamEntry &entry) {
    return entry.block <= stream.most_block;
}

// The entry that push runs next.
inline const StreamEntry &next_entry(const lw_stream &stream) {
    return stream.model->streams.at(*stream.own, stream.state->done);
}

// On a device other than the CPU, blocks wait until several streams have one.
inline bool runs_together(const lw_stream &stream) { return stream.model->asked != nullptr; }

// How many of its blocks may have begun at once.
inline uint32_t most_begun(const lw_stream &stream) {
    return stream.device().start ? most_blocks_in_flight : 1;
}

// Returns `status`. After a failure the stream accepts only reset, copy and load.
inline lw_status failed_if(lw_stream &stream, lw_status status) {
    if (status != LW_OK) stream.state->life = Life::failed;
    return status;
}

// Waits for enqueued work of the session and reports failures since the last wait. A failure fails
// the stream. Saving is such work too, of a constant stream.
inline lw_status wait(const lw_stream &stream) {
    return failed_if(const_cast<lw_stream &>(stream), stream.device().wait(*stream.session));
}

} // namespace longwave::runtime
