// Offline runs (lw_runner).
#pragma once
#include "runtime/core/model.h"

namespace longwave::runtime {

// Bytes of a runner with one thread.
uint64_t runner_bytes(const lw_model &model);

} // namespace longwave::runtime
