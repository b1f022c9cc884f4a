// Samples as the bytes of a WAV file.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <vector>

namespace longwave::audio {

// 32-bit float samples, which no level clips. `samples`: frames of `channels` values.
Expected<std::vector<uint8_t>> wav_file(uint32_t rate, uint32_t channels, const std::vector<float> &samples);

} // namespace longwave::audio
