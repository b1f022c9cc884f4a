// The header of a W64 file: WAV with names of 16 bytes and sizes of 64 bits that count the chunk's
// own header. Chunks begin at multiples of 8.
#include "formats/audio/numbers.h"
#include "formats/audio/wav_format.h"
#include <algorithm>
#include <cstring>

namespace longwave::audio {
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

} // namespace longwave::audio
