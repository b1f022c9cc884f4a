// Headers of AU, W64 and WAV files, read without seeking.
#include "formats/audio/source.h"
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace longwave::audio {
namespace {

// Whole numbers in headers.

uint64_t number(const uint8_t *p, unsigned bytes, bool big_endian) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= uint64_t{p[i]} << 8 * (big_endian ? bytes - 1 - i : i);
    return value;
}

// The format chunk that WAV and W64 files have in common.

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

// `chunk`: n bytes of the chunk, at most its first 40.
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

// The header of an AU file, also called Sun audio: big-endian, or with ".snd" reversed.

std::optional<Encoding> encoding_of_code(uint64_t code) {
    switch (code) {
    case 1: return Encoding::mulaw;
    case 2: return Encoding::s8;
    case 3: return Encoding::s16;
    case 4: return Encoding::s24;
    case 5: return Encoding::s32;
    case 6: return Encoding::f32;
    case 7: return Encoding::f64;
    case 27: return Encoding::alaw;
    default: return std::nullopt;
    }
}

} // namespace

Expected<Header> read_au_header(Bytes &bytes) {
    uint8_t head[24];
    LW_ASSIGN(const size_t got, bytes.all(head, sizeof head));
    if (got < sizeof head) return Status::input(bytes.name() + ": the AU file ends before its first sample");
    const bool big_endian = std::memcmp(head, ".snd", 4) == 0;
    const auto field = [&](size_t index) { return number(head + 4 * index, 4, big_endian); };
    const uint64_t offset = field(1), size = field(2), rate = field(4), channels = field(5);
    if (offset < sizeof head || channels == 0 || channels > 1024 || rate == 0)
        return Status::input(bytes.name() + ": the AU header says " + std::to_string(channels) +
                             " channels at " + std::to_string(rate) + " Hz, from byte " +
                             std::to_string(offset));
    const auto encoding = encoding_of_code(field(3));
    if (!encoding) return Header{std::nullopt, "encoding " + std::to_string(field(3))};
    LW_TRY(bytes.skip(offset - sizeof head, "the AU header"));
    return Header{Pcm{*encoding, static_cast<uint32_t>(channels), static_cast<uint32_t>(rate),
                      size == 0xffffffffu ? UINT64_MAX : size, big_endian},
                  ""};
}

// The header of a W64 file: WAV with names of 16 bytes and sizes of 64 bits that count the chunk's
// own header. Chunks begin at multiples of 8.

namespace {

constexpr uint8_t rest_of_name[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0x00, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a};
constexpr uint64_t head_bytes = 24;

bool names(const uint8_t *p, const char *tag) {
    return std::memcmp(p, tag, 4) == 0 && std::memcmp(p + 4, rest_of_name, sizeof rest_of_name) == 0;
}

} // namespace

Expected<Header> read_w64_header(Bytes &bytes) {
    const auto cut = [&] {
        return Status::input(bytes.name() + ": the W64 file ends before its first sample");
    };
    uint8_t head[40];
    LW_ASSIGN(size_t got, bytes.all(head, 40));
    if (got < 40) return cut();
    if (!names(head + 24, "wave")) return Status::input(bytes.name() + ": is a W64 file without audio");
    Header header;
    for (;;) {
        LW_ASSIGN(got, bytes.all(head, head_bytes));
        if (got < head_bytes) return cut();
        const uint64_t size = number(head + 16, 8, false);
        const bool unknown = size == 0 || size >= uint64_t{1} << 62; // of a program that cannot go back
        if (names(head, "data")) {
            if (!header.pcm)
                return Status::input(bytes.name() + ": the W64 file has samples before their format");
            header.pcm->bytes = unknown ? UINT64_MAX : std::max(size, head_bytes) - head_bytes;
            return header;
        }
        if (unknown || size < head_bytes)
            return Status::input(bytes.name() + ": a chunk of the W64 file has " + std::to_string(size) +
                                 " bytes");
        uint64_t rest = (size + 7) / 8 * 8 - head_bytes;
        if (names(head, "fmt ")) {
            const size_t take = static_cast<size_t>(std::min<uint64_t>(size - head_bytes, sizeof head));
            LW_ASSIGN(got, bytes.all(head, take));
            if (got < take) return cut();
            rest -= take;
            LW_ASSIGN(header, read_format(head, take, false, bytes.name()));
            if (!header.pcm) return header;
        }
        LW_TRY(bytes.skip(rest, "the W64 header"));
    }
}

// The header of a WAV file: RIFF, its big-endian form RIFX, and RF64 and BW64,
// whose sizes have 64 bits.

namespace {

// Sizes that programs leave when they cannot go back to fill them in: 0, or something close to the
// largest value of 31 or 32 bits.
bool unknown_size(uint64_t size) {
    return size == 0 || size >= 0xffff0000u || (size >= 0x7fff0000u && size <= 0x7fffffffu);
}

bool is(const uint8_t *p, const char *tag) { return std::memcmp(p, tag, 4) == 0; }

// With an unknown size of samples: does a chunk begin in their place? Then there are none. As samples
// these letters would be louder than half of full scale.
Expected<bool> chunk_follows(Bytes &bytes) {
    LW_ASSIGN(const auto next, bytes.peek(8));
    if (next.size() < 8) return false;
    for (const char *tag :
         {"LIST", "list", "INFO", "bext", "id3 ", "ID3 ", "fact", "cue ", "smpl", "inst", "iXML",
          "axml", "chna", "_PMX", "JUNK", "junk", "PAD ", "FLLR", "afsp", "PEAK", "plst", "umid"})
        if (is(next.data(), tag)) return true;
    return false;
}

} // namespace

Expected<Header> read_wav_header(Bytes &bytes) {
    const auto cut = [&] {
        return Status::input(bytes.name() + ": the WAV file ends before its first sample");
    };
    uint8_t head[40];
    LW_ASSIGN(size_t got, bytes.all(head, 12)); // "RIFF" size "WAVE": the caller has looked
    if (got < 12) return cut();
    const bool big_endian = is(head, "RIFX"), sizes_of_64_bits = is(head, "RF64") || is(head, "BW64");
    uint64_t samples_size = 0; // of ds64

    Header header;
    for (;;) {
        LW_ASSIGN(got, bytes.all(head, 8));
        if (got < 8) return cut();
        const uint64_t size = number(head + 4, 4, big_endian);
        if (is(head, "data")) {
            if (!header.pcm)
                return Status::input(bytes.name() + ": the WAV file has samples before their format");
            header.pcm->bytes = size;
            if (sizes_of_64_bits && size == 0xffffffffu)
                header.pcm->bytes =
                    samples_size > 0 && samples_size < uint64_t{1} << 62 ? samples_size : UINT64_MAX;
            else if (unknown_size(size)) header.pcm->bytes = UINT64_MAX;
            if (header.pcm->bytes == UINT64_MAX) {
                LW_ASSIGN(const bool none, chunk_follows(bytes));
                if (none) header.pcm->bytes = 0;
            }
            return header;
        }
        uint64_t rest = size + (size & 1); // chunks are padded to even sizes
        const bool format = is(head, "fmt "), sizes = sizes_of_64_bits && is(head, "ds64");
        if (format || sizes) {
            const size_t take = static_cast<size_t>(std::min<uint64_t>(size, sizeof head));
            LW_ASSIGN(got, bytes.all(head, take));
            if (got < take) return cut();
            rest -= take;
            if (format) {
                LW_ASSIGN(header, read_format(head, take, big_endian, bytes.name()));
                if (!header.pcm) return header;
            } else if (take >= 16) {
                samples_size = number(head + 8, 8, big_endian);
            }
        }
        LW_TRY(bytes.skip(rest, "the WAV header"));
    }
}

} // namespace longwave::audio
