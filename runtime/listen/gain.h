// Gain before the model: a constant, or one that slowly follows the level of the sounds. Pure
// arithmetic, in steps of samples: the result does not depend on how the audio is split.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

// What automatic gain remembers.
struct GainState {
    float factor = 1;   // in force
    float floor = 0;    // power of the quietest 10 ms of late, before the gain; 0: none was heard
    float sum = 0;      // of squares of the samples of this step
    uint32_t count = 0; // of those samples
};

class Gain {
public:
    static constexpr float least_db = -60, most_db = 60;           // constant
    static constexpr float least_auto_db = -12, most_auto_db = 30; // automatic

    // Starts automatic gain at `db`.
    void build(uint32_t sample_rate, float db, bool automatic);
    bool active() const { return automatic_ || start_ != 1; }

    GainState begin() const;
    // Samples with one and the same factor, at least 1.
    uint64_t samples_of_step(const GainState &state) const {
        return automatic_ ? step_ - state.count : UINT64_MAX;
    }
    float factor(const GainState &state) const { return automatic_ ? state.factor : start_; }
    // n samples before the gain, at most samples_of_step.
    void heard(const float *samples, size_t n, GainState &state) const;
    // Could these bytes be a state?
    bool valid(const GainState &state) const;

private:
    uint32_t step_ = 1; // samples of 10 ms
    float start_ = 1;
    bool automatic_ = false;
};

// 10 to the power of db / 20.
float factor_of(float db);

} // namespace longwave::runtime
