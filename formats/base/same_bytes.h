// Comparing bytes where the C library may be missing: programs without an operating system have
// memcpy, memmove and memset.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave {

// As memcmp: the difference of the first bytes that differ; 0: none.
inline int compare_bytes(const void *a, const void *b, size_t n) {
    const uint8_t *p = static_cast<const uint8_t *>(a), *q = static_cast<const uint8_t *>(b);
    for (size_t i = 0; i < n; ++i)
        if (p[i] != q[i]) return p[i] - q[i];
    return 0;
}
inline bool same_bytes(const void *a, const void *b, size_t n) { return compare_bytes(a, b, n) == 0; }

// Copies a text that ends with a zero, or the part that fits before one.
inline void copy_text(const char *from, char *to, size_t bytes) {
    size_t n = 0;
    for (; from[n] && n + 1 < bytes; ++n) to[n] = from[n];
    to[n] = 0;
}

} // namespace longwave
