// What a GPU can do at best: copies of every size, and what a dispatch, a barrier and a submission cost.
#pragma once
#include "tests/bench/vulkan/gpu.h"

namespace longwave::bench {

// Prints a JSON object per line on standard output. `most_bytes`: of the largest copy; what the device
// has no memory for is left out.
Status measure_limits(Gpu &gpu, uint64_t most_bytes, unsigned repeats);

} // namespace longwave::bench
