#include "runtime/text/sampler.h"
#include <cstring>

namespace longwave::runtime {
namespace {

double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

constexpr double inverse_factorials[] = {
    1,         1,          1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
    1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};

// ln 2 in two parts: the product of the first with any exponent is exact.
constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

} // namespace

uint64_t random_bits(uint64_t seed, uint64_t position) {
    uint32_t counter[4] = {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0};
    uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{0xd2511f53} * counter[0], b = uint64_t{0xcd9e8d57} * counter[2];
        const uint32_t next[4] = {
            static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
            static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
        memcpy(counter, next, sizeof counter);
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
    return uint64_t{counter[1]} << 32 | counter[0];
}

// x = k·ln 2 + r with |r| <= ln 2 / 2; the series of e^r by Horner's rule, whose first term left
// out is below 2^-58. Lanes side by side: what one of them gives does not depend on the others.
void exponentials(double *x, uint32_t n) {
    using Numbers = double __attribute__((vector_size(8 * lanes)));
    using Bits = uint64_t __attribute__((vector_size(8 * lanes)));
    constexpr double shift = 0x1.8p52; // added, it leaves the nearest whole number in the lowest bits
    for (uint32_t i = 0; i < n; i += lanes) {
        Numbers v;
        memcpy(&v, x + i, sizeof v);
        const Numbers shifted = v * 0x1.71547652b82fep0 + shift, k = shifted - shift;
        const Numbers r = (v - k * ln2_high) - k * ln2_low;
        Numbers sum = r * inverse_factorials[13] + inverse_factorials[12];
        for (int term = 11; term >= 0; --term) sum = inverse_factorials[term] + r * sum;
        const Bits power = (reinterpret_cast<Bits>(shifted) + 1023) << 52; // casts of vectors keep the bits
        sum *= reinterpret_cast<Numbers>(power);
        const Bits result = reinterpret_cast<Bits>(sum) & reinterpret_cast<Bits>(v > -708.0);
        memcpy(x + i, &result, sizeof result);
    }
}

// x = m·2^k with m in [√½, √2); ln m = 2·artanh((m − 1) / (m + 1)), whose first term left out is
// below 2^-58.
double logarithm(double x) {
    uint64_t bits = bits_of(x);
    const uint64_t half = bits_of(0x1.6a09e667f3bcdp-1); // √½
    const int64_t k = static_cast<int64_t>(bits - half) >> 52;
    const double m = from_bits(bits - (static_cast<uint64_t>(k) << 52));
    const double f = (m - 1) / (m + 1), f2 = f * f;
    double sum = 0;
    for (int i = 23; i > 0; i -= 2) sum = 2.0 / i + f2 * sum;
    return static_cast<double>(k) * ln2_high + (f * sum + static_cast<double>(k) * ln2_low);
}

// Kernels compare logits. The sampler compares log-probabilities, which rounding moves by some of
// their last bits. A margin of 2^-10 and a millionth is far more than that. Top-k changes nothing,
// because what min-p leaves is likelier than what it rules out. Top-p counts all words, so it does.
float logit_margin_of(const SamplerSettings &s) {
    if (s.penalty != 1 || s.biases > 0 || s.log_probabilities) return any_word;
    if (s.temperature == 0) return 0;
    if (!(s.min_p > 0) || s.top_p < 1) return any_word;
    return static_cast<float>(double{s.temperature} * logarithm(1 / double{s.min_p}) * (1 + 1e-6) + 0x1p-10);
}

void Sampler::build(const SamplerSettings &settings, Parts &parts) {
    settings_ = settings;
    const bool draws = settings.temperature > 0, weighs = draws || settings.log_probabilities;
    value_ = parts.take<float>(settings.vocabulary);
    weight_ = parts.take<double>(weighs ? settings.vocabulary + uint64_t{lanes} : 0);
    order_ = parts.take<uint32_t>(draws ? settings.vocabulary : 0);
    biases_ = parts.take<lw_logit_bias>(settings.biases);
}

void Sampler::begin(const float *logits) {
    row_ = logits;
    memcpy(value_, logits, settings_.vocabulary * sizeof *value_);
}

void Sampler::seen(int32_t id) {
    const float logit = row_[id];
    value_[id] = logit > 0 ? logit / settings_.penalty : logit * settings_.penalty;
}

int32_t Sampler::choose(uint64_t position) {
    for (uint64_t i = 0; i < settings_.biases; ++i) value_[biases_[i].id] += biases_[i].bias;
    uint32_t best = 0;
    for (uint32_t i = 1; i < settings_.vocabulary; ++i)
        if (value_[i] > value_[best]) best = i;
    if (settings_.temperature == 0) return static_cast<int32_t>(best);
    weigh(value_, value_[best], settings_.temperature);
    return static_cast<int32_t>(draw(rank(), position));
}

void Sampler::weigh(const float *logits, float most, float temperature) {
    const double scale = 1 / double{temperature};
    for (uint32_t i = 0; i < settings_.vocabulary; ++i)
        weight_[i] = (double{logits[i]} - double{most}) * scale;
    exponentials(weight_, settings_.vocabulary);
}

// The id at `at` of the heap of n goes down to where it belongs.
void Sampler::sink(uint32_t at, uint32_t n) {
    const uint32_t id = order_[at];
    for (uint64_t child; (child = 2 * uint64_t{at} + 1) < n; at = static_cast<uint32_t>(child)) {
        if (child + 1 < n && before(order_[child + 1], order_[child])) ++child;
        if (!before(order_[child], id)) break;
        order_[at] = order_[child];
    }
    order_[at] = id;
}

// Steps 4 and 5: how many ids stay; they lie at the end of order_, the likeliest last. Only so many
// are sorted: with top_p that is few of a large vocabulary.
uint32_t Sampler::rank() {
    const uint32_t n = settings_.vocabulary;
    for (uint32_t i = 0; i < n; ++i) order_[i] = i;
    if (settings_.top_k == n && settings_.top_p == 1) return n; // in the order of ids, the largest id first
    for (uint32_t i = n / 2; i-- > 0;) sink(i, n);
    uint32_t sorted = 0;
    const auto sort_to = [&](uint32_t wanted) {
        for (; sorted < wanted; ++sorted) {
            const uint32_t last = n - 1 - sorted, id = order_[0];
            order_[0] = order_[last];
            order_[last] = id;
            sink(0, last);
        }
    };
    double total = 0;
    if (settings_.top_k < n) {
        sort_to(settings_.top_k);
        for (uint32_t i = 0; i < sorted; ++i) total += weight_[order_[n - 1 - i]];
    } else {
        for (uint32_t i = 0; i < n; ++i) total += weight_[i];
    }
    const double wanted = double{settings_.top_p} * total;
    double mass = 0;
    uint32_t kept = 0;
    do {
        sort_to(kept + 1);
        mass += weight_[order_[n - 1 - kept++]];
    } while (kept < settings_.top_k && (mass < wanted || settings_.top_p == 1));
    return kept;
}

// Steps 6 and 7, over the last `kept` of order_.
uint32_t Sampler::draw(uint32_t kept, uint64_t position) const {
    const uint32_t *const end = order_ + settings_.vocabulary;
    const double least = double{settings_.min_p};
    double total = 0;
    for (uint32_t i = 1; i <= kept; ++i)
        if (weight_[end[-int64_t{i}]] >= least) total += weight_[end[-int64_t{i}]];
    const double target = static_cast<double>(random_bits(settings_.seed, position) >> 11) * 0x1p-53 * total;
    double sum = 0;
    uint32_t chosen = 0;
    for (uint32_t i = 1; i <= kept && sum <= target; ++i) {
        const uint32_t id = end[-int64_t{i}];
        if (!(weight_[id] >= least)) continue;
        sum += weight_[id];
        chosen = id;
    }
    return chosen;
}

float Sampler::log_probability(int32_t id) {
    float most = row_[0];
    for (uint32_t i = 1; i < settings_.vocabulary; ++i) most = row_[i] > most ? row_[i] : most;
    weigh(row_, most, 1);
    double sum = 0;
    for (uint32_t i = 0; i < settings_.vocabulary; ++i) sum += weight_[i];
    return static_cast<float>(double{row_[id]} - double{most} - logarithm(sum));
}

} // namespace longwave::runtime
