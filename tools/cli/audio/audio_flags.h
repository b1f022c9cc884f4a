// Audio and decision flags that several commands share.
#pragma once
#include "formats/audio/audio.h"
#include "tools/cli/audio/spotter.h"
#include "tools/cli/command_line/command_line.h"

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

} // namespace longwave::cli
