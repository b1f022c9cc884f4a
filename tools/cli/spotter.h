// Keyword decisions: rows of class scores in, events out.
//
// Each row is averaged with those before it; a word fires when its average is the highest and at its threshold for `min_count` rows in a row. Then nothing
// fires until that word's average has fallen below `release` times its threshold (so one utterance is one event, however long it stays on top) and
// `refractory_ms` more have passed.
#pragma once
#include "formats/artifact/view.h"
#include "formats/base/expected.h"
#include "tools/cli/model.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace longwave::cli {

struct Decision {
    uint32_t output = 0;           // stream output
    std::vector<std::string> labels;
    std::vector<float> threshold;  // by label
    std::vector<bool> ignored;     // labels that never fire
    double smoothing_ms = 300, release = 0.5, refractory_ms = 1000;
    uint32_t min_count = 3;
};

// What the command line changes.
struct DecisionFlags {
    std::vector<std::string> thresholds; // "yes=0.6", or "0.7" for all words
    std::optional<double> smoothing_ms, release, refractory_ms;
    std::optional<uint32_t> min_count;
};

// The artifact's settings with the flags laid over them. Fault::usage when the artifact has none.
Expected<Decision> decision_of(const artifact::View &artifact, const Model &model, const DecisionFlags &flags);
nlohmann::ordered_json to_json(const Decision &decision);

struct Event {
    uint32_t label = 0;
    float score = 0;         // the average that fired
    double t = 0;            // seconds of audio when it fired
    double t_start = 0;      // when the word's own score first rose above release times threshold
    double latency_ms = 0;   // from the first row whose own score was at the threshold: what averaging and counting cost
    uint64_t row = 0;
};

class Spotter {
public:
    // `row_seconds`: time between rows of the output.
    Spotter(Decision decision, double row_seconds);
    // `scores`: one a label; `t`: seconds of audio the row covers.
    std::optional<Event> row(const float *scores, uint64_t row, double t);
    void reset();
    const Decision &decision() const { return decision_; }

private:
    float level(size_t label) const { return static_cast<float>(decision_.release) * decision_.threshold[label]; }

    Decision decision_;
    double row_seconds_;
    size_t window_;
    std::vector<float> ring_;                 // the last `window_` rows; zero before the first, so that nothing fires on half a window
    size_t at_ = 0;
    std::vector<std::optional<double>> risen_, reached_; // by label, of the run it is in
    std::vector<double> mean_;
    uint32_t top_ = 0, count_ = 0;            // label on top and at its threshold, and for how many rows
    std::optional<uint32_t> holding_;         // label that fired and has not been released
    double quiet_until_ = -1;
};

} // namespace longwave::cli
