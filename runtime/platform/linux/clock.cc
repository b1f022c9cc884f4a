#include "runtime/platform/clock.h"
#include <time.h>

namespace longwave::platform {

uint64_t clock_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace longwave::platform
