// The format chunk that WAV and W64 files have in common.
#pragma once
#include "formats/audio/source.h"

namespace longwave::audio {

// `chunk`: n bytes of the chunk, at most its first 40.
Expected<Header> read_format(const uint8_t *chunk, uint64_t n, bool big_endian, const std::string &name);

} // namespace longwave::audio
