// Checked arithmetic on sizes read from outside: the only way `formats/` and the runtime multiply,
// add or align such numbers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave::checked {

// Each returns false on overflow and leaves *out untouched.
[[nodiscard]] inline bool add(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}
[[nodiscard]] inline bool mul(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}
// Rounds up to a multiple of a power of two.
[[nodiscard]] inline bool align(uint64_t a, uint64_t alignment, uint64_t *out) {
    uint64_t r;
    if (!add(a, alignment - 1, &r)) return false;
    *out = r & ~(alignment - 1);
    return true;
}
// offset + size <= limit, without wrapping.
[[nodiscard]] inline bool inside(uint64_t offset, uint64_t size, uint64_t limit) {
    return offset <= limit && size <= limit - offset;
}

} // namespace longwave::checked
