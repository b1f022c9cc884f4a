#include "runtime/platform/clock.h"
#include "runtime/platform/windows/system.h"

namespace longwave::platform {

uint64_t clock_ns() {
    constexpr uint64_t second = 1000000000u;
    LARGE_INTEGER rate, ticks;
    QueryPerformanceFrequency(&rate);
    QueryPerformanceCounter(&ticks);
    const auto hertz = static_cast<uint64_t>(rate.QuadPart), now = static_cast<uint64_t>(ticks.QuadPart);
    return now / hertz * second + now % hertz * second / hertz;
}

} // namespace longwave::platform
