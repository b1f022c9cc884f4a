// The CPU that this process runs on.
#pragma once
#include "formats/artifact/features.h"

namespace longwave::platform {

// What this CPU has *and* its operating system saves across context switches: a bit is set only
// when code may use it.
uint64_t features();
inline artifact::Host host() { return {.machine = artifact::own_machine, .features = features()}; }

// A moment of waiting in a loop: the other thread of the core goes first.
inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

} // namespace longwave::platform
