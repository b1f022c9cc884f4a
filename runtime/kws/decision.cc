#include "runtime/kws/decision.h"
#include <cstring>

namespace longwave::runtime {

void Decision::build(const DecisionSettings &settings, Parts &parts) {
    settings_ = settings;
    threshold_ = parts.take<float>(settings.labels);
    risen_ = reinterpret_cast<uint64_t *>(parts.take<uint8_t>(array_bytes()));
    if (!risen_) return; // only measuring
    ring_ = reinterpret_cast<float *>(risen_ + settings.labels);
    average_ = ring_ + uint64_t{settings.labels} * settings.window;
    fallen_ = reinterpret_cast<uint32_t *>(average_ + settings.labels);
    reset();
}

void Decision::reset() {
    memset(arrays(), 0, array_bytes());
    state = DecisionState{};
}

bool Decision::row(const float *scores, Detection *detection) {
    const uint32_t labels = settings_.labels;
    memcpy(ring_ + state.rows % settings_.window * labels, scores, labels * sizeof *ring_);
    memset(average_, 0, labels * sizeof *average_);
    // Summed anew in every row: a running sum would keep the rounding of the past.
    for (uint32_t w = 0; w < settings_.window; ++w)
        for (uint32_t i = 0; i < labels; ++i) average_[i] += ring_[w * uint64_t{labels} + i];
    const float scale = 1.0f / static_cast<float>(settings_.window);
    uint32_t best = 0;
    for (uint32_t i = 0; i < labels; ++i) {
        average_[i] *= scale;
        if (average_[i] > average_[best]) best = i;
        // A dip shorter than the window does not end the run: the average bridges it too.
        if (scores[i] >= level(i)) {
            if (risen_[i] == 0) risen_[i] = state.rows + 1;
            fallen_[i] = 0;
        } else if (++fallen_[i] >= settings_.window) {
            risen_[i] = 0;
            fallen_[i] = 0;
        }
    }
    const bool candidate = average_[best] >= threshold_[best];
    state.count = !candidate ? 0 : best == state.top ? state.count + 1 : 1;
    state.top = candidate ? best : DecisionState::nobody;
    const uint64_t now = state.rows++;

    if (state.holding != DecisionState::nobody) {
        if (average_[state.holding] >= level(state.holding)) return false;
        state.holding = DecisionState::nobody;
        state.quiet = settings_.refractory;
    }
    if (state.quiet > 0) {
        --state.quiet;
        return false;
    }
    if (!candidate || state.count < settings_.min_count) return false;
    state.holding = best;
    *detection = {best, average_[best], now, risen_[best] ? risen_[best] - 1 : now};
    return true;
}

} // namespace longwave::runtime
