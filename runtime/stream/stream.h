// A stream: one contiguous block holding the object, the rows that wait, and its session on the device.
//
//   | lw_stream | StreamState | cache ticks | runs, rows | session: state, caches, arena, descriptors, scratch |
//
// StreamState, the fields of the state and the rows that wait are what is saved; none of them holds an
// address.
#pragma once
#include "longwave/longwave.h"
#include "runtime/core/entries.h"
#include "runtime/core/model.h"
#include "runtime/stream/queue.h"

namespace longwave::runtime {

enum class Life : uint32_t {
    open = 0,
    finished = 1,
    failed = 2
}; // finished: no more input; failed: a kernel did, until reset, copy or load

struct StreamState {
    uint8_t identity[32]; // whose state it is (lw_model)
    uint64_t ticks;       // received
    uint64_t done;    // processed, the zeros of a finished stream included; every position follows from it
    uint32_t pending; // received, in the input ring and not yet processed: less than the largest block
    Life life;
    uint64_t rows_dropped, non_finite, non_finite_outputs;
    uint64_t poisoned;   // bit i: the newest row of output i (63: or of a later one) was not finite
    uint32_t runs, rows; // in saved bytes: that wait behind the fields; in a stream the queue knows
    uint64_t margin;     // the newest block was run for (fb::ScalarKind::margin); 0: for everything
    uint64_t reserved[3];
};
static_assert(sizeof(StreamState) == 128);

} // namespace longwave::runtime

struct lw_stream {
    const lw_model *model;
    const longwave::runtime::StreamEntry *own;
    bool owned; // lw_stream_destroy may release it
    lw_format format;
    uint64_t bytes;          // of the whole block
    uint64_t rows_per_block; // most rows one block can bring
    longwave::runtime::StreamState *state;
    uint64_t *cache_ticks; // of each stream entry: the tick its cache is made for, or `stale`
    uint32_t margin;       // that blocks are run for; the generator's, while it runs some
    longwave::runtime::Queue queue;
    longwave::runtime::Session *session;
    // On a device: its other streams, and whose block was put down; null: none.
    lw_stream *next;
    const longwave::runtime::StreamEntry *begun;

    const longwave::runtime::Device &device() const { return *model->device; }
};

namespace longwave::runtime {

inline constexpr uint64_t stale = ~uint64_t{0};

inline const fb::Input &input_of(const lw_stream &stream) {
    return *stream.model->plan().inputs()->Get(stream.own->entry->inputs()->Get(0)->input());
}
inline uint32_t outputs(const lw_stream &stream) { return stream.own->entry->outputs()->size(); }

// What runs next, by push.
inline const StreamEntry &next_entry(const lw_stream &stream) {
    return stream.model->streams.at(*stream.own, stream.state->done);
}

// Input ticks until the next block is full; 0: ticks of a loaded state wait already. For spotter.cc.
uint64_t ticks_to_block(const lw_stream &stream);

// LW_WRONG_STATE, with the reason: state.cc.
lw_status not_open(const lw_stream &stream);
// As a fresh stream: state.cc.
void clear(lw_stream &stream);

// caches.cc. Fills the cache of `entry` for the tick at hand, rounded down to its block. False: a kernel
// failed, and the stream with it; lw_last_error says which.
[[nodiscard]] bool rebuild(lw_stream &stream, const StreamEntry &entry);
// Every cache that push will need before it needs one of another entry.
[[nodiscard]] bool take_over(lw_stream &stream);
// Behind a block that another entry than the own has run: brings the caches ahead of it up to here.
[[nodiscard]] bool keep_current(lw_stream &stream);

// blocks.cc. What a block does to the queue: adds its rows; does so in place of those that wait of the same
// output; puts the newest of them in place of those.
enum class Keep { all, instead, newest };
bool room_for_block(const lw_stream &stream, const StreamEntry &entry);
// Runs one block of the entry, whose input is in the ring and whose cache is made for this tick.
lw_status run_block(lw_stream &stream, const StreamEntry &entry, Keep keep);
// The same for a block that push runs; with it those of other streams that wait on the device.
lw_status run_waiting(lw_stream &stream, const StreamEntry &entry);
// Whether blocks wait until several streams have theirs.
inline bool runs_together(const lw_stream &stream) { return stream.model->asked != nullptr; }
// How what was put down fared, and the functions of the session's memory; not LW_OK: the stream has failed.
lw_status settle(const lw_stream &stream);
// A finished stream: the rest of the block is zero.
lw_status run_zeros(lw_stream &stream);
// Behind which tick every valid row of a finished stream is out.
uint64_t last_tick(const lw_stream &stream);
lw_status failed_if(lw_stream &stream, lw_status status); // not LW_OK: the stream has failed; the same

} // namespace longwave::runtime
