#include "runtime/kws/decision.h"
#include <cstring>

namespace longwave::runtime {

void Decision::build(const DecisionSettings &settings, Parts &parts) {
    settings_ = settings;
    threshold_ = parts.take<float>(settings.labels);
    average_ = parts.take<float>(settings.labels);
    ring_ = parts.take<float>(uint64_t{settings.labels} * settings.window);
    risen_ = parts.take<uint64_t>(settings.labels);
    fallen_ = parts.take<uint32_t>(settings.labels);
    if (ring_) reset();
}

void Decision::reset() {
    memset(average_, 0, settings_.labels * sizeof *average_);
    memset(ring_, 0, uint64_t{settings_.labels} * settings_.window * sizeof *ring_);
    memset(risen_, 0, settings_.labels * sizeof *risen_);
    memset(fallen_, 0, settings_.labels * sizeof *fallen_);
    rows_ = 0;
    top_ = holding_ = nobody;
    count_ = quiet_ = 0;
}

bool Decision::row(const float *scores, Detection *detection) {
    const uint32_t labels = settings_.labels;
    memcpy(ring_ + rows_ % settings_.window * labels, scores, labels * sizeof *ring_);
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
            if (risen_[i] == 0) risen_[i] = rows_ + 1;
            fallen_[i] = 0;
        } else if (++fallen_[i] >= settings_.window) {
            risen_[i] = 0;
            fallen_[i] = 0;
        }
    }
    const bool candidate = average_[best] >= threshold_[best];
    count_ = !candidate ? 0 : best == top_ ? count_ + 1 : 1;
    top_ = candidate ? best : nobody;
    const uint64_t now = rows_++;

    if (holding_ != nobody) {
        if (average_[holding_] >= level(holding_)) return false;
        holding_ = nobody;
        quiet_ = settings_.refractory;
    }
    if (quiet_ > 0) {
        --quiet_;
        return false;
    }
    if (!candidate || count_ < settings_.min_count) return false;
    holding_ = best;
    *detection = {best, average_[best], now, risen_[best] ? risen_[best] - 1 : now};
    return true;
}

} // namespace longwave::runtime
