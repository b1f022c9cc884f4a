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

// s24_low: 24 bits in the low bytes of 32, as ALSA records S24_LE.
enum class Encoding { u8, s8, s16, s24, s24_low, s32, f32, f64, mulaw, alaw };
size_t bytes_of(Encoding encoding);
float decode(Encoding encoding, const uint8_t *bytes); // one sample, little-endian
float decode_mulaw(uint8_t code);                      // ITU-T G.711
float decode_alaw(uint8_t code);

struct Pcm {
    Encoding encoding = Encoding::s16;
    uint32_t channels = 1, sample_rate = 0;
    uint64_t bytes = 0; // of samples that follow; unknown: UINT64_MAX
    bool big_endian = false;
};

// Interleaved samples as they lie in the input.
SourcePtr open_pcm(Bytes bytes, const Pcm &pcm, const Options &options);

// A header up to the first sample, when its first bytes have been recognised.
struct Header {
    std::optional<Pcm> pcm; // none: the codec is none of ours, and `bytes` is in no useful place
    std::string codec;      // its name, then
};
Expected<Header> read_wav_header(Bytes &bytes); // RIFF, RIFX, RF64, BW64
Expected<Header> read_w64_header(Bytes &bytes);
Expected<Header> read_au_header(Bytes &bytes);

// Everything libsndfile decodes, from here on. A pipe has to hold FLAC or Ogg: it is decoded as it
// arrives. `kind` is for messages.
Expected<SourcePtr> open_sndfile(Bytes bytes, const std::string &kind, const Options &options);

Expected<SourcePtr> resampled(SourcePtr source, uint32_t sample_rate);

// What Options::warn is told of a cut input.
std::string cut_warning(const std::string &name, uint64_t promised, uint64_t there);

// Is `channel` (1 is the first, 0: not chosen) one of `channels`?
Status check_channel(const std::string &name, uint32_t channels, uint32_t channel);

} // namespace longwave::audio
