// The choice of an id against its definition in float64, by distributions and at the edges of each
// setting.
#include "runtime/text/sampler.h"
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <random>
#include <vector>

namespace sampler_test {

using namespace longwave::runtime;

namespace {

// A sampler with its memory.
struct Picker {
    explicit Picker(SamplerSettings settings) {
        if (settings.top_k == 0) settings.top_k = settings.vocabulary;
        Parts measure(nullptr);
        sampler.build(settings, measure);
        memory.resize(measure.used() + line);
        Parts parts(memory.data() + (line - reinterpret_cast<uintptr_t>(memory.data()) % line) % line);
        sampler.build(settings, parts);
    }
    int32_t pick(const std::vector<float> &logits, uint64_t position, const std::vector<int32_t> &seen = {}) {
        sampler.begin(logits.data());
        for (const int32_t id : seen) sampler.seen(id);
        return sampler.choose(position);
    }
    Sampler sampler;
    std::vector<uint8_t> memory;
};

double exponential(double x) {
    double all[lanes] = {x, 0, -1, -700};
    exponentials(all, lanes);
    return all[0];
}

std::vector<float> random_logits(size_t n, uint32_t seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> logits(n);
    for (float &logit : logits) logit = normal(generator);
    return logits;
}

// Steps 3 to 7 as generator.h has them, by sorting.
std::vector<double> expected(const std::vector<float> &logits, const SamplerSettings &s) {
    std::vector<size_t> order(logits.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
    if (s.top_k > 0 && s.top_k < order.size()) order.resize(s.top_k);
    std::vector<double> p(logits.size(), 0.0);
    const auto softmax = [&] {
        std::fill(p.begin(), p.end(), 0.0);
        double sum = 0;
        for (const size_t i : order) sum += std::exp((double{logits[i]} - logits[order[0]]) / s.temperature);
        for (const size_t i : order)
            p[i] = std::exp((double{logits[i]} - logits[order[0]]) / s.temperature) / sum;
    };
    softmax();
    double mass = 0;
    size_t kept = 0;
    while (kept < order.size() && (kept == 0 || mass < s.top_p)) mass += p[order[kept++]];
    if (s.top_p < 1) order.resize(kept);
    softmax();
    std::erase_if(order, [&](size_t i) { return p[i] < s.min_p * p[order[0]]; });
    softmax();
    return p;
}

} // namespace

TEST_CASE("sampler: random numbers are those of Philox4x32-10") {
    // Known answers of Random123: the first two words of the block.
    CHECK(random_bits(0, 0) == 0xe169c58d6627e8d5);
    // All bits, and positions behind each other, differ from one another.
    std::vector<uint64_t> all;
    for (uint64_t seed : {0ull, 1ull, ~0ull})
        for (uint64_t position = 0; position < 1000; ++position) {
            all.push_back(random_bits(seed, position));
            all.push_back(random_bits(seed, position << 32 | 5000));
        }
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("sampler: exponential and logarithm are those of the C library within two units") {
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> below(-708, 0), small(-1, 0), sums(0, 40);
    const auto apart = [](double a, double b) {
        return std::fabs(a - b) / (std::nextafter(b, 2 * b + 1) - b);
    };
    double worst_exponential = 0, worst_logarithm = 0;
    for (int i = 0; i < 200000; ++i) {
        for (const double x : {below(generator), small(generator)})
            worst_exponential = std::max(worst_exponential, apart(exponential(x), std::exp(x)));
        const double s = std::exp(sums(generator));
        worst_logarithm =
            std::max(worst_logarithm, std::fabs(logarithm(s) - std::log(s)) / std::max(1.0, std::log(s)));
    }
    CHECK(worst_exponential <= 2);
    CHECK(worst_logarithm <= 0x1p-52);
    CHECK(exponential(0) == 1);
    CHECK(exponential(-0.0) == 1);
    CHECK(exponential(-709) == 0);
    CHECK(exponential(-1e300) == 0);
    CHECK(exponential(std::nan("")) == 0);
    CHECK(logarithm(1) == 0);
}

TEST_CASE("sampler: ids come as often as their definition says, whatever the settings") {
    const SamplerSettings cases[] = {
        {.vocabulary = 20, .seed = 1, .temperature = 1},
        {.vocabulary = 20, .seed = 2, .temperature = 0.5f},
        {.vocabulary = 20, .seed = 3, .temperature = 3},
        {.vocabulary = 20, .seed = 4, .temperature = 1, .top_k = 5},
        {.vocabulary = 20, .seed = 5, .temperature = 1, .top_p = 0.7f},
        {.vocabulary = 20, .seed = 6, .temperature = 1, .min_p = 0.1f},
        {.vocabulary = 20, .seed = 7, .temperature = 2, .top_k = 8, .top_p = 0.8f, .min_p = 0.2f},
        {.vocabulary = 300, .seed = 8, .temperature = 1, .top_k = 12, .top_p = 0.95f},
        {.vocabulary = 300, .seed = 9, .temperature = 1.5f, .top_p = 0.5f, .min_p = 0.05f},
    };
    constexpr int draws = 100000;
    for (const SamplerSettings &settings : cases) {
        const std::vector<float> logits =
            random_logits(settings.vocabulary, 100 + static_cast<uint32_t>(settings.seed));
        const std::vector<double> p = expected(logits, settings);
        Picker picker(settings);
        std::vector<int> counts(settings.vocabulary);
        for (uint64_t i = 0; i < draws; ++i) counts[static_cast<size_t>(picker.pick(logits, i))]++;
        double chi_square = 0, rare = 0;
        int freedom = -1, rare_count = 0;
        for (size_t i = 0; i < p.size(); ++i) {
            if (p[i] == 0) CHECK(counts[i] == 0);
            if (p[i] * draws < 10) { // too few for the approximation: taken together
                rare += p[i] * draws;
                rare_count += counts[i];
                continue;
            }
            chi_square += std::pow(counts[i] - p[i] * draws, 2) / (p[i] * draws);
            ++freedom;
        }
        CHECK(std::fabs(rare_count - rare) <= 5 * std::sqrt(rare) + 1);
        // Mean `freedom`, variance twice that: beyond five deviations lies less than a millionth,
        // for many degrees; a little more for few.
        INFO("chi-square " << chi_square << " at " << freedom << " degrees, seed " << settings.seed);
        CHECK(chi_square <= freedom + 5 * std::sqrt(2.0 * std::max(freedom, 1)));
    }
}

TEST_CASE("sampler: settings at their edges leave one id, or all") {
    const std::vector<float> logits = {1, 5, 3, 5, -2, 4};
    const uint32_t n = 6;
    const SamplerSettings only_best[] = {
        {.vocabulary = n, .temperature = 0},
        {.vocabulary = n, .temperature = 1, .top_k = 1},
        {.vocabulary = n, .temperature = 1, .top_p = 1e-9f},
        {.vocabulary = n, .temperature = 0, .top_k = 3, .top_p = 0.5f, .min_p = 0.5f},
    };
    for (const SamplerSettings &settings : only_best) {
        Picker picker(settings);
        for (uint64_t position = 0; position < 200; ++position)
            CHECK(picker.pick(logits, position) == 1); // of two equal logits the lower id
    }
    // min_p 1 and a temperature near 0 leave both of the equal ones.
    for (const SamplerSettings &settings : {SamplerSettings{.vocabulary = n, .temperature = 1, .min_p = 1},
                                            SamplerSettings{.vocabulary = n, .temperature = 1e-6f}}) {
        std::vector<int> counts(n);
        for (uint64_t position = 0; position < 1000; ++position)
            counts[static_cast<size_t>(Picker(settings).pick(logits, position))]++;
        CHECK(counts[1] + counts[3] == 1000);
        CHECK(counts[1] > 400);
        CHECK(counts[3] > 400);
    }
    // top_p 1 keeps even what is far below the rounding of the sum; a huge temperature makes all
    // alike.
    std::vector<int> counts(n);
    for (uint64_t position = 0; position < 6000; ++position)
        counts[static_cast<size_t>(Picker({.vocabulary = n, .temperature = 1e6f}).pick(logits, position))]++;
    for (const int count : counts) CHECK(count > 850);
    CHECK(Picker({.vocabulary = 1, .temperature = 1, .top_p = 0.5f}).pick({-7}, 3) == 0);
}

TEST_CASE("sampler: the penalty divides and multiplies once, and biases are added behind it") {
    Picker greedy({.vocabulary = 4, .penalty = 2});
    CHECK(greedy.pick({4, 3, -1, 0}, 0) == 0);
    CHECK(greedy.pick({4, 3, -1, 0}, 0, {0}) == 1);
    CHECK(greedy.pick({5.9f, 3, -1, 0}, 0, {0, 0, 0}) == 1); // 2.95, and not 1.475 …
    CHECK(greedy.pick({6.1f, 3, -1, 0}, 0, {0, 0, 0}) == 0);
    CHECK(greedy.pick({-1.9f, -3, -1, -2.1f}, 0, {2}) == 0); // −1 becomes −2
    Picker biased({.vocabulary = 4, .penalty = 2, .biases = 3});
    biased.sampler.biases()[0] = {0, -1e30f};
    biased.sampler.biases()[1] = {3, 1.5f};
    biased.sampler.biases()[2] = {3, 2};
    CHECK(biased.pick({4, 3, -1, 0}, 0) == 3);
    CHECK(biased.pick({4, 8, -1, 0}, 0) == 1);
    CHECK(biased.pick({4, 8, -1, 0}, 0, {1}) == 1); // 4 against 3.5
    CHECK(biased.pick({4, 6, -1, 0}, 0, {1}) == 3); // 3 against 3.5
    Picker draws({.vocabulary = 3, .temperature = 1, .biases = 1});
    draws.sampler.biases()[0] = {1, -1e30f};
    for (uint64_t position = 0; position < 1000; ++position) CHECK(draws.pick({0, 9, 0}, position) != 1);
}

TEST_CASE("sampler: the log-probability is that of the model, whatever the settings") {
    const std::vector<float> logits = random_logits(300, 5);
    Picker picker(
        {.vocabulary = 300, .temperature = 0.1f, .top_k = 2, .penalty = 3, .log_probabilities = true});
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit});
    for (uint64_t position = 0; position < 50; ++position) {
        const int32_t id = picker.pick(logits, position, {1, 2, 3});
        CHECK(picker.sampler.log_probability(id) ==
              doctest::Approx(double{logits[static_cast<size_t>(id)]} - std::log(sum)).epsilon(1e-6));
    }
    CHECK(picker.sampler.log_probability(7) ==
          doctest::Approx(double{logits[7]} - std::log(sum)).epsilon(1e-6));
}

} // namespace sampler_test
