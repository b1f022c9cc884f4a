#include "runtime/core/samples.h"
#include <cstring>

namespace longwave::runtime {

size_t sample_bytes(lw_sample_format format) { return format == LW_S16 ? 2 : 4; }

size_t first_bad_token(const void *ids, size_t n, uint32_t vocabulary) {
    const uint8_t *p = static_cast<const uint8_t *>(ids);
    for (size_t i = 0; i < n; ++i) {
        uint32_t id; // negative ids are large here
        memcpy(&id, p + i * sizeof id, sizeof id);
        if (id >= vocabulary) return i;
    }
    return n;
}

namespace {

// Everything below looks at the bits: the library may be compiled by someone with -ffast-math. The
// loops have no branch and run over whole pieces, so that the compiler makes vectors of them.

constexpr uint32_t magnitude = 0x7fffffffu, infinity = 0x7f800000u;

// Below this a number is 0. Other machines flush denormal numbers while kernels run
// (platform/kernels.h). WebAssembly has no such mode, and denormal numbers in the input would double
// the time of a block.
#if defined(__wasm__)
constexpr uint32_t smallest = 0x00800000u;
#else
constexpr uint32_t smallest = 0;
#endif

// Without its sign a float is larger than another exactly when its bits are, and infinities and
// NaNs are the largest.
[[gnu::noinline]] uint64_t copy_floats(const uint8_t *from, uint64_t n, uint8_t *to, uint32_t largest) {
    uint64_t bad = 0;
    while (n > 0) {
        const uint32_t piece = n < 0x10000 ? static_cast<uint32_t>(n) : 0x10000;
        uint32_t bad_here = 0;
        for (uint32_t i = 0; i < piece; ++i) {
            uint32_t bits;
            memcpy(&bits, from + 4 * uint64_t{i}, 4);
            const uint32_t is_bad = (bits & magnitude) > largest;
            bits &= is_bad - 1;
            if constexpr (smallest > 0) bits &= -static_cast<uint32_t>((bits & magnitude) >= smallest);
            bad_here += is_bad;
            memcpy(to + 4 * uint64_t{i}, &bits, 4);
        }
        bad += bad_here;
        from += 4 * uint64_t{piece};
        to += 4 * uint64_t{piece};
        n -= piece;
    }
    return bad;
}

void copy_shorts(const uint8_t *from, uint64_t n, uint8_t *to) {
    for (uint64_t i = 0; i < n; ++i) {
        int16_t sample;
        memcpy(&sample, from + 2 * i, sizeof sample);
        const float scaled = static_cast<float>(sample) * (1.0f / 32768.0f);
        memcpy(to + 4 * i, &scaled, sizeof scaled);
    }
}

} // namespace

// n samples of a format as floats or ids, one behind the other; how many were bad.
static uint64_t convert_row(lw_sample_format format, const uint8_t *from, uint64_t n, uint8_t *to,
                            uint32_t largest) {
    switch (format) {
    case LW_F32: return copy_floats(from, n, to, largest);
    case LW_S16: copy_shorts(from, n, to); break;
    case LW_I32: memcpy(to, from, n * 4); break;
    case LW_FORMAT_FORCE: break;
    }
    return 0;
}

uint64_t convert(const Samples &samples, uint8_t *to, uint64_t stride) {
    constexpr uint64_t most = 256; // floats of narrow rows that are converted together, then put apart
    alignas(64) uint8_t together[most * 4];
    const uint8_t *from = static_cast<const uint8_t *>(samples.data);
    uint64_t rows = samples.rows, width = samples.width, bad = 0;
    if (stride == width * 4) { // no gaps: one long row
        width *= rows;
        rows = 1;
    }
    uint32_t largest;
    memcpy(&largest, &samples.limit, sizeof largest);
    if (largest >= infinity) largest = infinity - 1;
    const uint64_t row_bytes = width * sample_bytes(samples.format);
    const uint64_t at_once = rows > 1 && width <= most / 8 ? most / width : 1;
    for (uint64_t n; rows > 0; rows -= n, from += n * row_bytes, to += n * stride) {
        n = at_once < rows ? at_once : rows;
        uint8_t *const dense = at_once > 1 ? together : to;
        bad += convert_row(samples.format, from, n * width, dense, largest);
        if (at_once > 1) copy_rows(together, width * 4, to, stride, n, width * 4);
    }
    return bad;
}

[[gnu::noinline]] static uint64_t non_finite(const uint8_t *values, uint64_t n) {
    uint64_t bad = 0;
    while (n > 0) {
        const uint32_t piece = n < 0x10000 ? static_cast<uint32_t>(n) : 0x10000;
        uint32_t bad_here = 0;
        for (uint32_t i = 0; i < piece; ++i) {
            uint32_t bits;
            memcpy(&bits, values + 4 * uint64_t{i}, sizeof bits);
            bad_here += (bits & magnitude) >= infinity;
        }
        bad += bad_here;
        values += 4 * uint64_t{piece};
        n -= piece;
    }
    return bad;
}

uint64_t count_non_finite(const uint8_t *values, uint64_t n, uint64_t rows, uint64_t stride,
                          uint64_t *newest) {
    *newest = 0;
    if (rows == 0) return 0;
    uint64_t all = 0;
    if (stride == n * 4) { // no gaps: one long row
        all = non_finite(values, n * rows);
    } else {
        for (uint64_t row = 0; row < rows; ++row) all += non_finite(values + row * stride, n);
    }
    if (all > 0) *newest = non_finite(values + (rows - 1) * stride, n);
    return all;
}

// A call of memcpy for each row would cost more than a narrow row.
template <uint64_t bytes> static void copy_narrow(const uint8_t *from, uint64_t stride, uint8_t *to,
                                                  uint64_t to_stride, uint64_t rows) {
    for (uint64_t row = 0; row < rows; ++row, from += stride, to += to_stride) memcpy(to, from, bytes);
}

void copy_rows(const uint8_t *from, uint64_t stride, uint8_t *to, uint64_t to_stride, uint64_t rows,
               uint64_t bytes) {
    if (stride == bytes && to_stride == bytes) { // no gaps: one long row
        memcpy(to, from, rows * bytes);
        return;
    }
    switch (bytes) {
    case 4: return copy_narrow<4>(from, stride, to, to_stride, rows);
    case 8: return copy_narrow<8>(from, stride, to, to_stride, rows);
    case 12: return copy_narrow<12>(from, stride, to, to_stride, rows);
    default:
        for (uint64_t row = 0; row < rows; ++row, from += stride, to += to_stride) memcpy(to, from, bytes);
    }
}

} // namespace longwave::runtime
