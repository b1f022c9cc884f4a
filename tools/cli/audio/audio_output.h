// Where audio goes: a file, a device, a pipe or standard output, written as it comes.
#pragma once
#include "formats/audio/wav_file.h"
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <functional>
#include <longwave/audio_stream.h>
#include <string>
#include <vector>

namespace longwave::cli {

struct AudioForm {
    audio::WrittenForm samples = audio::WrittenForm::f32;
    bool wav = true; // false: samples without a header
    uint32_t rate = 0;
};

// Takes the samples that `write` is given, in constant memory.
class AudioOutput {
public:
    AudioOutput(int file, std::string name, AudioForm form)
        : file_(file), name_(std::move(name)), form_(form) {}
    Status begin(); // the header, which says that nobody knows the length
    Status write(const float *samples, size_t n);
    Status end(bool in_place); // the length, where the file can go back to its header
    uint64_t samples() const { return samples_; }

private:
    Status put(const std::vector<uint8_t> &bytes);
    int file_;
    std::string name_;
    AudioForm form_;
    uint64_t samples_ = 0;
    std::vector<uint8_t> bytes_;
};

// `path` "-" is standard output. A file is written beside its place, and put there when `make`
// succeeds. Devices and pipes are written to.
Status write_audio(const std::string &path, const AudioForm &form,
                   const std::function<Status(AudioOutput &output)> &make);

// lw_audio_stream with C++ lifetimes.

class AudioStream {
public:
    using OnSamples = std::function<Status(const float *samples, size_t n)>;

    // rate: of pushed and pulled samples; 0: those of the model. `live`: its latency stays. block: of the
    // stream; 0: that of the default entry.
    static Expected<AudioStream> create(const Model &model, const std::string &output, uint32_t rate,
                                        bool live, uint32_t block = 0);

    Status push(const float *samples, size_t n, const OnSamples &take);
    Status finish(const OnSamples &take);
    lw_audio_stream_info info() const;

private:
    Status pull(const OnSamples &take);
    std::shared_ptr<lw_audio_stream> handle_;
    std::vector<float> ready_;
};

} // namespace longwave::cli
