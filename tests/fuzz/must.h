// What must hold: a broken promise ends the process, which is how fuzzers learn of it.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace longwave::fuzz {

inline void must(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "BROKEN PROMISE: %s\n", what);
    std::abort();
}

} // namespace longwave::fuzz
