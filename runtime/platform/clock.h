#pragma once
#include <cstdint>

namespace longwave::platform {

// Nanoseconds of a clock that nobody sets, since some moment in the past.
uint64_t clock_ns();

} // namespace longwave::platform
