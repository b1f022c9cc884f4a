#include "formats/audio/wav_format.h"
#include "formats/audio/numbers.h"

namespace longwave::audio {
namespace {

constexpr uint16_t format_pcm = 1, format_float = 3, format_alaw = 6, format_mulaw = 7,
                   format_extensible = 0xfffe;

// `container`: bytes of a sample.
std::optional<Encoding> encoding_of(uint16_t format, uint16_t bits, uint64_t container) {
    if (format == format_mulaw && container == 1) return Encoding::mulaw;
    if (format == format_alaw && container == 1) return Encoding::alaw;
    if (format == format_float && bits == 32 && container == 4) return Encoding::f32;
    if (format == format_float && bits == 64 && container == 8) return Encoding::f64;
    if (format != format_pcm) return std::nullopt;
    // `arecord -f S24_LE` writes 24 bits into the low bytes of 32. Other programs with fewer bits
    // than the container has fill it from the top.
    if (bits == 24 && container == 4) return Encoding::s24_low;
    if (bits == 0 || container != (bits + 7u) / 8) return std::nullopt;
    switch (container) {
    case 1: return Encoding::u8;
    case 2: return Encoding::s16;
    case 3: return Encoding::s24;
    case 4: return Encoding::s32;
    default: return std::nullopt;
    }
}

std::string codec_name(uint16_t format) {
    switch (format) {
    case 2: return "Microsoft ADPCM";
    case 0x11: return "IMA ADPCM";
    case 0x31: return "GSM 6.10";
    case 0x50: return "MPEG audio";
    case 0x55: return "MP3";
    case 0xff:
    case 0x1610: return "AAC";
    case 0x161: return "WMA";
    default: return "codec " + std::to_string(format);
    }
}

} // namespace

Expected<Header> read_format(const uint8_t *chunk, uint64_t n, bool big_endian, const std::string &name) {
    if (n < 16)
        return Status::input(name + ": the WAV format chunk has " + std::to_string(n) +
                             " bytes, fewer than 16");
    const auto field = [&](size_t at, unsigned bytes) { return number(chunk + at, bytes, big_endian); };
    auto format = static_cast<uint16_t>(field(0, 2));
    const auto bits = static_cast<uint16_t>(field(14, 2));
    if (format == format_extensible && n >= 26)
        format = static_cast<uint16_t>(field(24, 2)); // first bytes of the sub-format's GUID
    const uint64_t channels = field(2, 2), rate = field(4, 4);
    uint64_t frame = field(12, 2);
    if (channels == 0 || channels > 1024 || rate == 0)
        return Status::input(name + ": the WAV format chunk says " + std::to_string(channels) +
                             " channels at " + std::to_string(rate) + " Hz");
    const bool simple =
        format == format_pcm || format == format_float || format == format_alaw || format == format_mulaw;
    if (frame == 0) frame = (bits + 7u) / 8 * channels; // some programs leave it out
    const auto encoding = encoding_of(format, bits, frame % channels == 0 ? frame / channels : 0);
    if (!encoding && simple)
        return Status::input(name + ": the WAV format chunk contradicts itself: " + std::to_string(bits) +
                             " bits, " + std::to_string(channels) + " channels, and " +
                             std::to_string(frame) + " bytes per frame");
    if (!encoding) return Header{std::nullopt, codec_name(format)};
    return Header{Pcm{*encoding, static_cast<uint32_t>(channels), static_cast<uint32_t>(rate), 0, big_endian},
                  ""};
}

} // namespace longwave::audio
