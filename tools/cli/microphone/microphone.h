// Audio from a microphone through ALSA, as the samples of a file.
#pragma once
#include "formats/audio/audio.h"
#include <functional>
#include <string>
#include <vector>

namespace longwave::cli {

struct MicrophoneOptions {
    std::string name;     // of the ALSA device: "default", "hw:1,0"
    audio::Options audio; // as for raw samples; the format is the device's own

    // Called within Reader::read when the device lost audio or slept. The text is one line.
    std::function<void(const std::string &text)> notice;
};

// Starts to record. A thread reads the device, so a slow reader loses nothing for 30 seconds.
Expected<audio::Reader> open_microphone(const MicrophoneOptions &options);

struct MicrophoneDescription {
    std::string name, description;
};
Expected<std::vector<MicrophoneDescription>> list_microphones();

} // namespace longwave::cli
