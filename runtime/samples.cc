#include "runtime/samples.h"
#include <cstring>

namespace longwave::runtime {

bool format_fits(lw_format format, fb::InputKind kind) {
    switch (format) {
    case LW_F32: return kind != fb::InputKind::tokens;
    case LW_S16: return kind == fb::InputKind::audio;
    case LW_I32: return kind == fb::InputKind::tokens;
    }
    return false;
}

bool known_format(const lw_format &format) {
    uint32_t value;
    static_assert(sizeof value == sizeof format);
    memcpy(&value, &format, sizeof value);
    return value <= LW_I32;
}

size_t sample_bytes(lw_format format) { return format == LW_S16 ? 2 : 4; }

size_t first_bad_token(const void *ids, size_t n, uint32_t vocabulary) {
    const uint8_t *p = static_cast<const uint8_t *>(ids);
    for (size_t i = 0; i < n; ++i) {
        uint32_t id; // negative ids are large here
        memcpy(&id, p + i * sizeof id, sizeof id);
        if (id >= vocabulary) return i;
    }
    return n;
}

// On the bits: the library may be compiled by someone with -ffast-math.
static bool finite(uint32_t bits) { return (bits & 0x7f800000u) != 0x7f800000u; }

uint64_t convert(const void *from, lw_format format, size_t rows, uint32_t width, uint8_t *to, uint32_t row_bytes) {
    const uint8_t *p = static_cast<const uint8_t *>(from);
    uint64_t bad = 0;
    for (size_t row = 0; row < rows; ++row, to += row_bytes) {
        for (uint32_t i = 0; i < width; ++i) {
            uint8_t *value = to + i * 4;
            if (format == LW_S16) {
                int16_t sample;
                memcpy(&sample, p, sizeof sample);
                p += sizeof sample;
                const float scaled = static_cast<float>(sample) * (1.0f / 32768.0f);
                memcpy(value, &scaled, sizeof scaled);
            } else {
                uint32_t bits;
                memcpy(&bits, p, sizeof bits);
                p += sizeof bits;
                if (format == LW_F32 && !finite(bits)) bits = 0, ++bad;
                memcpy(value, &bits, sizeof bits);
            }
        }
    }
    return bad;
}

} // namespace longwave::runtime
