// Where audio goes: a file, a device, a pipe or standard output, written as it comes.
#pragma once
#include "formats/audio/wav_file.h"
#include "formats/base/expected.h"
#include <functional>
#include <string>

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

} // namespace longwave::cli
