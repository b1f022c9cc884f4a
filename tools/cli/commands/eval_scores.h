// Scores of a keyword model over audio, kept so that any threshold can be tried on them: the
// network runs once, the decision rule (runtime/kws/decision.h) as often as one likes.
#pragma once
#include "tools/cli/audio/spotter.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/stream.h"
#include <string>
#include <vector>

namespace longwave::cli {

// The rows of the decision's output over one stream.
struct Scores {
    std::vector<float> rows; // labels values each
    size_t labels = 0;
    size_t count() const { return labels ? rows.size() / labels : 0; }
};

struct ScoredEvent {
    uint32_t label = 0;
    uint64_t tick = 0; // samples heard when it fired
};

class Scorer {
public:
    // The decision settings in force are those of the spotter. Fault::usage: the model has none.
    static Expected<Scorer> create(const artifact::View &artifact, const Model &model,
                                   const Spotter &spotter);

    // Pushes samples and keeps the rows that come.
    Status push(const std::vector<float> &samples, Scores &scores);
    Status finish(Scores &scores); // the last rows; afterwards only reset()
    Status reset();

    // The events of the decision rule. `threshold`: of every word; 0: the thresholds in force.
    std::vector<ScoredEvent> events(const Scores &scores, float threshold = 0) const;
    bool fires(uint32_t label) const { return thresholds_[label] <= 1; }

private:
    Stream stream_;
    uint32_t output_ = 0;
    // Row r is there after (r + 1) * den / num + delay ticks.
    uint64_t ticks_num_ = 1, ticks_den_ = 1, delay_ = 0;
    uint32_t window_ = 1, min_count_ = 1, refractory_ = 0;
    float release_ = 0.5f;
    std::vector<float> thresholds_; // above 1: never
};

} // namespace longwave::cli
