// Audio as it arrives: from a file, a pipe or a microphone.
#pragma once
#include "tools/cli/audio/audio_flags.h"
#include <functional>

namespace longwave::cli {

// Both are called within Reader::read: `notice` when a microphone lost audio or stopped for a while,
// `warn` when a file ends before its header says so. Without `warn` the warning is printed.
Expected<audio::Reader> open_audio(const AudioFlags &flags, uint32_t model_rate,
                                   std::function<void(const std::string &text)> notice,
                                   std::function<void(const std::string &text)> warn = {});

// What a device in trouble says. It may fail many times per second.
class Interruptions {
public:
    // Whether to print this one.
    bool add();
    uint64_t count() const { return count_; }

private:
    uint64_t count_ = 0;
    double next_ = 0;
};

// Until `due`, a time of now().
void wait_until(double due);

} // namespace longwave::cli
