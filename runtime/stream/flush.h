// Streams on a device: blocks of many streams in one submission (lw_device_submit).
#pragma once
#include "runtime/stream/blocks.h"

namespace longwave::runtime {

#ifdef LW_FREESTANDING // the CPU alone, which runs a block at once
inline void add_to_flush(lw_stream &) {}
inline void remove_from_flush(lw_stream &) {}
inline lw_status run_next(lw_stream &stream, const StreamEntry &entry) {
    return run_block(stream, entry, Keep::all);
}
#else
// If a whole block is pending or some are in flight: the calling thread's next flush runs them.
void add_to_flush(lw_stream &stream);
// Before the stream goes away.
void remove_from_flush(lw_stream &stream);
// Runs the next block of `entry`. On a device it begins the block, with those of the calling
// thread's other streams.
lw_status run_next(lw_stream &stream, const StreamEntry &entry);
#endif

} // namespace longwave::runtime
