// The state of a stream as a whole.
#pragma once
#include "runtime/stream/memory.h"

namespace longwave::runtime {

// LW_WRONG_STATE, with the reason why the stream takes no input.
lw_status not_open(const lw_stream &stream);
// Whether push takes these samples (stream.cc).
lw_status check_samples(const lw_stream &stream, const void *samples, size_t n);
// What the state of a new stream holds: zeros, and what fields begin with instead.
void begin_fields(lw_stream &stream);
// Makes the stream as new. A failure of the device is reported by the next wait().
void clear(lw_stream &stream);

} // namespace longwave::runtime
