// Caches of the stream entries: which tick each is valid for, and how it gets there.
#pragma once
#include "runtime/stream/memory.h"

namespace longwave::runtime {

// Fills the cache of `entry` for the tick at hand, rounded down to its block. False: a kernel
// failed and the stream with it; lw_last_error names the kernel.
[[nodiscard]] bool rebuild(lw_stream &stream, const StreamEntry &entry);
// Fills every cache that push needs before it reaches the stream's own entry.
[[nodiscard]] bool take_over(lw_stream &stream);
// After a block of another entry than the stream's own: brings the caches that push needs later up
// to this tick.
[[nodiscard]] bool keep_current(lw_stream &stream);

} // namespace longwave::runtime
