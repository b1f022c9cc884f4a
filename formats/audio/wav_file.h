// Samples as the bytes of a WAV file: all at once, or as they come.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace longwave::audio {

// 32-bit float samples, which no level clips. `samples`: frames of `channels` values.
Expected<std::vector<uint8_t>> wav_file(uint32_t rate, uint32_t channels, const std::vector<float> &samples);

// Of one channel, for files and pipes that are written as the samples come.

// How samples are written, little-endian. s16 is rounded, and clipped at full scale.
enum class WrittenForm { f32, s16 };

// Appends the samples to `bytes`.
void encode(WrittenForm form, std::span<const float> samples, std::vector<uint8_t> &bytes);

// What a WAV file of one channel begins with. Without `samples` nobody knows yet how many follow, as
// in a pipe: the sizes say "up to the end". Fault::usage: too many for a WAV file, which has at most
// 4 GiB.
Expected<std::vector<uint8_t>> wav_header(uint32_t rate, WrittenForm form, std::optional<uint64_t> samples);

} // namespace longwave::audio
