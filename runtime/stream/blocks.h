// One block of a stream: its steps, and the rows that it adds to the queue.
#pragma once
#include "runtime/stream/memory.h"

namespace longwave::runtime {

// What the rows of a block do to rows of the same output that wait: join them, replace them, or
// replace them with the newest row alone.
enum class Keep { all, instead, newest };

// Input ticks until the next block is full. 0: a loaded state has a full block pending.
uint64_t ticks_to_block(const lw_stream &stream);
// Whether the queue has room for the rows of the next block of `entry`.
bool room_for_block(const lw_stream &stream, const StreamEntry &entry);

// How the next block of the stream runs, and that `entry` has run or enqueued it.
Extent extent_of_block(const lw_stream &stream);
void count_block(lw_stream &stream, const StreamEntry &entry);
// Begins a block of the entry. Its input is in the ring, its cache is valid for this tick, and fewer
// than most_begun have begun. A block of another entry than the stream's own must end before the
// next begins.
lw_status begin_block(lw_stream &stream, const StreamEntry &entry);
// Waits for the oldest block that has begun, and queues its rows.
lw_status end_block(lw_stream &stream, Keep keep);
// Both, where none has begun.
lw_status run_block(lw_stream &stream, const StreamEntry &entry, Keep keep);
// Ends all blocks that have begun. Returns the first failure.
lw_status end_blocks(lw_stream &stream);

// A finished stream: runs the next block, padded with zeros.
lw_status run_zeros(lw_stream &stream);
// The tick after which every valid row of a finished stream is out.
uint64_t last_tick(const lw_stream &stream);

} // namespace longwave::runtime
