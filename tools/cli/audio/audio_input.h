// Audio and decision flags that several commands share.
#pragma once
#include "formats/audio/audio.h"
#include "formats/base/expected.h"
#include "tools/cli/audio/spotter.h"
#include "tools/cli/command_line/command_line.h"
#include <functional>
#include <string>

namespace longwave::cli {

struct AudioFlags {
    std::string path = "-", format = "auto", microphone;
    uint32_t rate = 0, channel = 0, channels = 1;
    bool resample = false, offers_format = false;
    double gain_db = 0; // of clips

    void add(CommandLine &app, bool input); // input: also the path itself
    audio::Options options(uint32_t model_rate) const;
    std::string name() const {
        return !microphone.empty() ? "microphone " + microphone : path == "-" ? "standard input" : path;
    }
};

void add_decision_flags(CommandLine &app, DecisionFlags &flags);

// The flag --gain.

struct GainSetting {
    float db = 0;
    bool automatic = false;
};

void add_gain_flag(CommandLine &app, std::string &text);
// Empty: none. Fault::usage: neither decibels nor `auto`.
Expected<GainSetting> read_gain(const std::string &text);

// Audio as it arrives: from a file, a pipe or a microphone.

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
