// The header of a WAV file, read without seeking: RIFF, its big-endian form RIFX, and RF64 and BW64,
// whose sizes have 64 bits.
#include "formats/audio/numbers.h"
#include "formats/audio/wav_format.h"
#include <algorithm>
#include <cstring>

namespace longwave::audio {
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
