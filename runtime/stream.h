// A stream: one contiguous block holding the object, its program, its state and its arena.
//
//   | lw_stream | StreamState | plan state | queue | arena | program and scratch |
//
// StreamState, plan state and queue hold no pointers and lie side by side: reset, copy, save and load move them as bytes.
#pragma once
#include "longwave/longwave.h"
#include "runtime/model.h"
#include "runtime/rows.h"

namespace longwave::runtime {

enum class Life : uint32_t { open = 0, finished = 1, failed = 2 }; // finished: no more input; failed: a kernel did, until reset, copy or load

struct StreamState {
    uint8_t weights[32];  // whose state it is (weights_identity)
    uint64_t layout;      // of the plan state
    uint64_t state_bytes; // of the plan state
    uint64_t block;       // b: blocks run so far; every ring position follows from it
    uint64_t ticks;       // real input ticks so far
    uint32_t filled;      // ticks of block b that are in the input ring
    Life life;
    uint64_t rows_dropped, non_finite;
    uint32_t queue_head, queue_count; // rows that wait
    uint64_t reserved[4];
};
static_assert(sizeof(StreamState) == 128);

// Ahead of the values of each row that waits.
struct QueuedRow {
    uint64_t row, end;
    uint32_t index, width;
    uint64_t reserved;
};
static_assert(sizeof(QueuedRow) == 32);

} // namespace longwave::runtime

struct lw_stream {
    const lw_model *model;
    const longwave::fb::Entry *entry;
    bool owned; // lw_stream_destroy may release it
    lw_format format;
    uint64_t bytes;      // of the whole block
    uint32_t queue_rows; // capacity
    uint32_t queue_row_bytes;
    uint32_t rows_per_block; // most rows one block can bring
    longwave::runtime::Moving input;
    longwave::runtime::Bases bases;
    longwave::runtime::Rows *rows; // of each output
    longwave::runtime::Program program;
    longwave::runtime::StreamState *state;
    uint8_t *plan_state;
    uint8_t *queue;
};

namespace longwave::runtime {

inline const fb::InputPort &input_port(const lw_stream &stream) { return *stream.entry->inputs()->Get(0); }
inline const fb::Input &input_of(const lw_stream &stream) { return *stream.model->plan().inputs()->Get(input_port(stream).input()); }
inline uint32_t outputs(const lw_stream &stream) { return stream.entry->outputs()->size(); }

// Where the row that waits at `position` lies.
inline uint8_t *slot(const lw_stream &stream, uint32_t position) {
    const uint64_t index = (uint64_t{stream.state->queue_head} + position) % stream.queue_rows;
    return stream.queue + index * stream.queue_row_bytes;
}

// As a fresh stream: state.cc.
void clear(lw_stream &stream);
// LW_WRONG_STATE, with the reason.
lw_status not_open(const lw_stream &stream);

} // namespace longwave::runtime
