// lw_spotter with C++ lifetimes, and the decision flags.
#pragma once
#include "formats/artifact/view.h"
#include "tools/cli/model/model.h"
#include <functional>
#include <longwave/spotter.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace longwave::cli {

// Decision settings from the command line. They replace those of the model.
struct DecisionFlags {
    std::vector<std::string> thresholds; // "yes=0.6", or "0.7" for all words
    std::optional<float> smoothing_ms, release, refractory_ms;
    std::optional<uint32_t> min_count;
    std::string gain; // "12", in dB, or "auto"; empty: none
};

class Spotter {
public:
    using OnEvent = std::function<void(const lw_spotter_event &event)>;

    // Fault::usage when the artifact has no decision settings or a flag names no word of it.
    static Expected<Spotter> create(const artifact::View &artifact, const Model &model,
                                    const DecisionFlags &flags);

    Status push(const float *samples, size_t n, const OnEvent &event);
    Status finish(const OnEvent &event);
    Status reset();
    lw_stream_stats stats() const;
    std::vector<float> scores() const; // averaged, one a label, after the last push
    bool fires(uint32_t label) const {
        return lw_spotter_threshold(handle_.get(), label) > 0;
    } // false: an ignored label
    float threshold(uint32_t label) const { return lw_spotter_threshold(handle_.get(), label); }
    double rate() const { return rate_; } // of the audio
    bool auto_gain() const { return auto_gain_; }
    double gain_db() const; // in force
    double seconds(uint64_t tick) const { return static_cast<double>(tick) / rate_; }

    // Time from the sound to the decision: the model's delay, a block, half the averaging window,
    // the rows that are counted.
    double latency_ms() const { return latency_ms_; }
    // The settings in force.
    const nlohmann::ordered_json &settings() const { return settings_; }

private:
    Status pull(const OnEvent &event);
    std::shared_ptr<lw_spotter> handle_;
    double rate_ = 1, latency_ms_ = 0;
    bool auto_gain_ = false;
    nlohmann::ordered_json settings_;
};

} // namespace longwave::cli
