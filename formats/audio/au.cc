// The header of an AU file, also called Sun audio: big-endian, or with ".snd" turned around.
#include "formats/audio/numbers.h"
#include "formats/audio/source.h"
#include <cstring>

namespace longwave::audio {
namespace {

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

} // namespace longwave::audio
