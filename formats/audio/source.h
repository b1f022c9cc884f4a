// What a Reader reads from: one class a kind of input. For formats/audio, and for inputs that are
// no files.
#pragma once
#include "formats/audio/audio.h"
#include "formats/audio/bytes.h"

namespace longwave::audio {

class Source {
public:
    virtual ~Source() = default;
    // As Reader::read: mono samples, the channel already chosen.
    virtual Expected<size_t> read(float *samples, size_t n) = 0;
    uint32_t sample_rate = 0;
};

using SourcePtr = std::unique_ptr<Source>;

enum class Encoding { u8, s16, s24, s32, f32, f64 };
size_t bytes_of(Encoding encoding);
float decode(Encoding encoding, const uint8_t *bytes); // one sample

struct Pcm {
    Encoding encoding = Encoding::s16;
    uint32_t channels = 1, sample_rate = 0;
    uint64_t bytes = 0; // of samples that follow; unknown: UINT64_MAX
};

// Interleaved samples as they lie in the input.
SourcePtr open_pcm(Bytes bytes, const Pcm &pcm, uint32_t channel);

// Reads a WAV header up to the first sample. Holds no value when the codec is none of ours; `bytes`
// is then in no useful place.
Expected<std::optional<Pcm>> read_wav_header(Bytes &bytes);

// Everything libsndfile decodes. A pipe is read to its end first.
Expected<SourcePtr> open_sndfile(Bytes bytes, const std::string &path, uint32_t channel);

Expected<SourcePtr> resampled(SourcePtr source, uint32_t sample_rate);

// Is `channel` (1 is the first, 0: not chosen) one of `channels`?
Status check_channel(const std::string &name, uint32_t channels, uint32_t channel);

} // namespace longwave::audio
