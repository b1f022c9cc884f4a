// ID3v2 tags: players write them before MP3, and some also before FLAC and WAV.
#include "formats/audio/source.h"
#include <cstring>

namespace longwave::audio {

Expected<bool> skip_id3(Bytes &bytes) {
    bool skipped = false;
    for (;;) {
        LW_ASSIGN(const auto head, bytes.peek(10));
        if (head.size() < 10 || std::memcmp(head.data(), "ID3", 3) != 0 || head[3] == 0xff || head[4] == 0xff)
            return skipped;
        uint64_t size = 0; // 7 bits per byte
        for (size_t i = 6; i < 10; i++) {
            if (head[i] & 0x80) return skipped; // no tag
            size = size << 7 | head[i];
        }
        const bool footer = head[3] >= 4 && head[5] & 0x10;
        LW_TRY(bytes.skip(10 + size + (footer ? 10 : 0), "its ID3 tag"));
        skipped = true;
    }
}

} // namespace longwave::audio
