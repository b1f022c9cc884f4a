// What a file or pipe is, by its first bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longwave::audio {

// How a kind of file is read.
enum class Reading {
    wav,       // own reader: RIFF, RIFX, RF64, BW64
    w64,       // own reader
    au,        // own reader
    streamed,  // libsndfile, from a file or a pipe
    from_file, // libsndfile, which must seek in it
    none,      // audio or video that is not read, or no audio at all
    unknown    // nothing that is known
};

struct Beginning {
    const char *name; // for messages: "is NAME"
    Reading reading;
    const char *advice = nullptr; // of Reading::none: what to do; null: convert it
};

inline constexpr size_t beginning_bytes = 64;  // enough for recognise()
inline constexpr size_t two_frames = 8192 + 7; // the longest frame, and the header of the next one

Beginning recognise(const std::vector<uint8_t> &first);

// MPEG audio and AAC have no magic number, only a pattern of 11 bits. The frame that begins at the
// first byte and the header of the next one have to agree. Null: they do not.
bool may_be_mpeg(const std::vector<uint8_t> &first); // worth a look at two frames
const char *mpeg_name(const std::vector<uint8_t> &frames);

} // namespace longwave::audio
