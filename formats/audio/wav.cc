// The header of a WAV file, read without seeking.
#include "formats/audio/source.h"
#include <algorithm>
#include <cstring>

namespace longwave::audio {
namespace {

constexpr uint16_t format_pcm = 1, format_float = 3, format_extensible = 0xfffe;
// Sizes that programs leave when they cannot go back to fill them in: 0, or something close to the
// largest value of 31 or 32 bits.
bool unknown_size(uint32_t size) {
    return size == 0 || size >= 0xffff0000u || (size >= 0x7fff0000u && size <= 0x7fffffffu);
}

uint16_t u16(const uint8_t *p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }
uint32_t u32(const uint8_t *p) {
    return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
}
bool is(const uint8_t *p, const char *tag) { return std::memcmp(p, tag, 4) == 0; }

std::optional<Encoding> encoding_of(uint16_t format, uint16_t bits) {
    if (format == format_pcm) {
        if (bits == 8) return Encoding::u8;
        if (bits == 16) return Encoding::s16;
        if (bits == 24) return Encoding::s24;
        if (bits == 32) return Encoding::s32;
    }
    if (format == format_float) {
        if (bits == 32) return Encoding::f32;
        if (bits == 64) return Encoding::f64;
    }
    return std::nullopt;
}

Status skip(Bytes &bytes, uint64_t n) {
    uint8_t sink[4096];
    while (n > 0) {
        LW_ASSIGN(const size_t got,
                  bytes.some(sink, static_cast<size_t>(std::min<uint64_t>(n, sizeof sink))));
        if (got == 0) return Status::input(bytes.name() + ": the WAV header ends in the middle of a chunk");
        n -= got;
    }
    return {};
}

} // namespace

Expected<std::optional<Pcm>> read_wav_header(Bytes &bytes) {
    const auto cut = [&] {
        return Status::input(bytes.name() + ": the WAV file ends before its first sample");
    };
    uint8_t head[40];
    LW_ASSIGN(size_t got, bytes.all(head, 12)); // "RIFF" size "WAVE": the caller has looked
    if (got < 12) return cut();

    std::optional<Pcm> pcm;
    for (;;) {
        LW_ASSIGN(got, bytes.all(head, 8));
        if (got < 8) return cut();
        const uint32_t size = u32(head + 4);
        if (is(head, "data")) {
            if (!pcm) return Status::input(bytes.name() + ": the WAV file has samples before their format");
            pcm->bytes = unknown_size(size) ? UINT64_MAX : size;
            return pcm;
        }
        uint64_t rest = uint64_t{size} + (size & 1); // chunks are padded to even sizes
        if (is(head, "fmt ")) {
            if (size < 16)
                return Status::input(bytes.name() + ": the WAV format chunk has " + std::to_string(size) +
                                     " bytes, fewer than 16");
            const size_t take = std::min<size_t>(size, sizeof head);
            LW_ASSIGN(got, bytes.all(head, take));
            if (got < take) return cut();
            rest -= take;
            uint16_t format = u16(head);
            if (format == format_extensible && take >= 26)
                format = u16(head + 24); // first bytes of the sub-format's GUID
            const auto encoding = encoding_of(format, u16(head + 14));
            if (!encoding) return std::optional<Pcm>();
            pcm = Pcm{*encoding, u16(head + 2), u32(head + 4), 0};
            if (pcm->channels == 0 || pcm->sample_rate == 0 ||
                u16(head + 12) != bytes_of(*encoding) * pcm->channels)
                return Status::input(
                    bytes.name() +
                    ": the WAV format chunk contradicts itself (channels, rate and frame size)");
        }
        LW_TRY(skip(bytes, rest));
    }
}

} // namespace longwave::audio
