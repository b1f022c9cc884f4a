// One open ALSA capture device. Only this class calls libasound.
#pragma once
#include "tools/cli/microphone/microphone.h"
#include <alsa/asoundlib.h>
#include <memory>

namespace longwave::cli {

// What one read brought.
struct Captured {
    size_t frames = 0;  // may be 0: nothing came within a tenth of a second
    bool ended = false; // devices that play a file end; microphones do not
    std::string notice; // not empty: audio was lost, or the machine slept
};

class AlsaDevice {
public:
    static Expected<AlsaDevice> open(const MicrophoneOptions &options);

    // At most `n` frames of the chosen channel. A status means that no more audio will come.
    Expected<Captured> read(float *samples, size_t n);
    uint32_t sample_rate() const { return rate_; }

private:
    Status configure(const MicrophoneOptions &options);
    Status choose_format(snd_pcm_hw_params_t *params);
    Status choose_channels(snd_pcm_hw_params_t *params, const MicrophoneOptions &options);
    Status choose_rate(snd_pcm_hw_params_t *params, const audio::Options &options);
    Status start();
    Expected<Captured> recover(int error);
    Expected<Captured> resume();
    Status failed(const std::string &what, int error) const;
    void decode(size_t frames, float *samples) const;

    struct Close {
        void operator()(snd_pcm_t *pcm) const { snd_pcm_close(pcm); }
    };
    std::unique_ptr<snd_pcm_t, Close> pcm_;
    std::string name_;
    snd_pcm_format_t format_ = SND_PCM_FORMAT_UNKNOWN;
    uint32_t rate_ = 0, channels_ = 1, channel_ = 0; // channel_: 0 is the first
    uint64_t overruns_ = 0;
    unsigned failures_ = 0; // since the last audio
    std::vector<uint8_t> buffer_;
};

} // namespace longwave::cli
