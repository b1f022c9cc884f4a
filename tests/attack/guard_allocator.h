// An allocator whose blocks end (or begin) where nobody may touch anything, which counts what is
// held.
#pragma once
#include "longwave/longwave.h"
#include <cstdint>

namespace longwave::attack {

struct GuardAllocator {
    bool at_front = false;   // the guard lies before a block, else behind it
    uint64_t most = 1 << 30; // it gives no more at once
    uint64_t held = 0, peak = 0;

    lw_allocator calls();
};

} // namespace longwave::attack
