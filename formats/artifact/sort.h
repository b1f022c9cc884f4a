// Sorting without the C++ library: std::sort of integers is a function inside libc++, which a C
// program does not link.
#pragma once
#include <cstdint>

namespace longwave::artifact {

// Moves values[root] down until no child is larger, in a heap of the first n values.
inline void sift_down(uint64_t *values, uint32_t root, uint32_t n) {
    const uint64_t value = values[root];
    for (uint32_t child; root < n / 2; root = child) {
        child = 2 * root + 1;
        if (child + 1 < n && values[child + 1] > values[child]) ++child;
        if (values[child] <= value) break;
        values[root] = values[child];
    }
    values[root] = value;
}

// Ascending, in place, in at most about 2 n log2 n comparisons whatever the order was: the values
// come from files that may be hostile. n is below 2^31.
inline void sort(uint64_t *values, uint32_t n) {
    for (uint32_t root = n / 2; root-- > 0;) sift_down(values, root, n);
    for (uint32_t end = n; end-- > 1;) {
        const uint64_t largest = values[0];
        values[0] = values[end];
        values[end] = largest;
        sift_down(values, 0, end);
    }
}

} // namespace longwave::artifact
