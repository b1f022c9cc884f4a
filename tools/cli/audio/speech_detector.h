// lw_speech_detector with C++ lifetimes, and its flags.
#pragma once
#include "tools/cli/command_line/command_line.h"
#include "tools/cli/model/model.h"
#include <functional>
#include <longwave/speech_detector.h>
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// The settings of Silero's get_speech_timestamps, with its defaults.
struct SpeechFlags {
    double threshold = 0.5, negative_threshold = 0; // 0: threshold - 0.15, at least 0.01
    double min_speech_ms = 250, min_silence_ms = 100, pad_ms = 30, min_silence_at_max_ms = 98;
    double max_speech_s = 0; // 0: no limit
    bool cut_at_last_silence = false;
    std::string output; // of the model
    std::string gain;   // "12", in dB, or "auto"; empty: none

    void add(CommandLine &app);
};

class SpeechDetector {
public:
    using OnEvent = std::function<Status(const lw_speech_event &event)>;

    // With an event for each row.
    static Expected<SpeechDetector> create(const Model &model, const SpeechFlags &flags);

    Status push(const float *samples, size_t n, const OnEvent &event);
    Status finish(const OnEvent &event);
    lw_stream_stats stats() const;
    uint32_t hop() const { return lw_speech_detector_hop(handle_.get()); }
    bool auto_gain() const { return auto_gain_; }
    double gain_db() const; // in force
    // The settings in force.
    const nlohmann::ordered_json &settings() const { return settings_; }

private:
    Status pull(const OnEvent &event);
    std::shared_ptr<lw_speech_detector> handle_;
    bool auto_gain_ = false;
    nlohmann::ordered_json settings_;
};

} // namespace longwave::cli
