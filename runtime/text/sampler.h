// The choice of an id from a row of logits (generator.h says in which steps). Pure arithmetic on
// memory the owner provides: no function of the C library, so that the bits do not depend on which
// one there is.
#pragma once
#include "longwave/generator.h"
#include "runtime/core/memory.h"
#include <cstdint>

namespace longwave::runtime {

struct SamplerSettings {
    uint32_t vocabulary = 0;
    uint64_t seed = 0;
    float temperature = 0; // 0: greedy
    uint32_t top_k = 0;    // 1 … vocabulary
    float top_p = 1, min_p = 0, penalty = 1;
    uint64_t biases = 0;
    bool log_probabilities = false;
};

// The Philox4x32-10 generator at counter {position, 0} under key `seed`: two of its four words.
uint64_t random_bits(uint64_t seed, uint64_t position);
// x[i] becomes e^x[i], for x <= 0, with room for n rounded up to a multiple of `lanes`; and the
// natural logarithm of x >= 1. Within 2 units in the last place; below −708 e^x is 0.
inline constexpr uint32_t lanes = 4;
void exponentials(double *x, uint32_t n);
double logarithm(double x);

// How far below the largest logit of a row a word may be that these settings can choose, in nats.
inline constexpr float any_word = 3e38f;
float logit_margin_of(const SamplerSettings &settings);

class Sampler {
public:
    // Takes its memory from `parts` (which may only measure). Fill in biases() before the first
    // row.
    void build(const SamplerSettings &settings, Parts &parts);

    // Starts a row, all finite.
    void begin(const float *logits);
    // Step 1, for one of the newest ids; more than once does no more.
    void seen(int32_t id);
    // Steps 2 to 7.
    int32_t choose(uint64_t position);
    // Of the row as the model gave it, behind choose(). For `log_probabilities`.
    float log_probability(int32_t id);

    lw_logit_bias *biases() { return biases_; }
    bool penalizes() const { return settings_.penalty != 1; }

private:
    bool before(uint32_t a, uint32_t b) const { // the likelier, then the lower id
        return value_[a] > value_[b] || (value_[a] == value_[b] && a < b);
    }
    void weigh(const float *logits, float most, float temperature);
    void sink(uint32_t at, uint32_t n);
    uint32_t rank();
    uint32_t draw(uint32_t ranked, uint64_t position) const;

    SamplerSettings settings_;
    const float *row_ = nullptr;
    float *value_ = nullptr;   // [vocabulary] logits after steps 1 and 2
    double *weight_ = nullptr; // [vocabulary, up to whole lanes] probability relative to the likeliest id's
    uint32_t *order_ =
        nullptr; // [vocabulary] a heap of ids; those taken from it lie behind it, the first last
    lw_logit_bias *biases_ = nullptr;
};

} // namespace longwave::runtime
