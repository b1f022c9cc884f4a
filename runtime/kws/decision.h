// The decision rule of a keyword spotter: rows of scores in, at most one event a row out. Pure
// arithmetic on memory the owner provides.
#pragma once
#include "runtime/core/memory.h"
#include <cstdint>

namespace longwave::runtime {

struct DecisionSettings {
    uint32_t labels = 0;
    uint32_t window = 1;     // rows in the average
    uint32_t min_count = 1;  // rows a word must stay on top and at its threshold
    uint32_t refractory = 0; // rows after the release in which nothing fires
    float release = 0.5f;    // times the threshold
};

struct Detection {
    uint32_t label;
    float score;
    uint64_t row, first_row; // the row that fired · the first row of its run
};

// What it remembers of the rows before, besides the arrays.
struct DecisionState {
    static constexpr uint32_t nobody = 0xffffffff;
    uint64_t rows = 0;
    uint32_t top = nobody, count = 0; // label on top and at its threshold, and for how many rows
    uint32_t holding = nobody;        // label that fired and has not been released
    uint32_t quiet = 0;               // rows of the refractory time that are left
};

class Decision {
public:
    // Takes its memory from `parts` (which may only measure). Fill in thresholds() before the first
    // row: above 1 a word never fires.
    void build(const DecisionSettings &settings, Parts &parts);
    void reset();
    // One score a label. True when a word fires.
    bool row(const float *scores, Detection *detection);

    float *thresholds() { return threshold_; }
    const float *thresholds() const { return threshold_; }
    const float *averages() const { return average_; }
    const DecisionSettings &settings() const { return settings_; }

    // All that it remembers: the state and the bytes of the arrays.
    DecisionState state;
    uint8_t *arrays() { return reinterpret_cast<uint8_t *>(risen_); }
    const uint8_t *arrays() const { return reinterpret_cast<const uint8_t *>(risen_); }
    uint64_t array_bytes() const {
        return settings_.labels * (sizeof *risen_ + (uint64_t{settings_.window} + 2) * sizeof(float));
    }

private:
    float level(uint32_t label) const { return settings_.release * threshold_[label]; }

    DecisionSettings settings_;
    float *threshold_ = nullptr; // [labels]
    // The arrays, one behind the other. [labels] row since which the label's own score has been
    // above its release level, + 1; 0: it is below
    uint64_t *risen_ = nullptr;
    float *ring_ = nullptr;      // [window][labels], zero before the first row: half a window does not fire
    float *average_ = nullptr;   // [labels]
    uint32_t *fallen_ = nullptr; // [labels] rows it has been below since
};

} // namespace longwave::runtime
