// Two intermediates in one memory: half the bytes that cross the caches.
#pragma once
#include "schedules/halide/builder.h"

namespace longwave::schedules {

// The same code, with each pair of `builder.shared_memory()` in one allocation. Halide has no word
// for it: to it they are two Funcs.
Halide::Module with_shared_memory(const KernelBuilder &builder, const Halide::Module &module);

} // namespace longwave::schedules
