// Whole numbers in headers.
#pragma once
#include <cstdint>

namespace longwave::audio {

inline uint64_t number(const uint8_t *p, unsigned bytes, bool big_endian) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= uint64_t{p[i]} << 8 * (big_endian ? bytes - 1 - i : i);
    return value;
}

} // namespace longwave::audio
