// The arithmetic of gain: how far, how fast, and at what it stays.
#include "runtime/listen/gain.h"
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <vector>

namespace gain_test {

using longwave::runtime::factor_of;
using longwave::runtime::Gain;
using longwave::runtime::GainState;

namespace {

constexpr uint32_t rate = 16000;

double db(float factor) { return 20 * std::log10(double{factor}); }

Gain automatic(float start = 0) {
    Gain gain;
    gain.build(rate, start, true);
    return gain;
}

// Pushes in pieces of at most `cut` samples, as the spotter does: never across the end of a step.
void hear(const Gain &gain, GainState &state, const std::vector<float> &x, size_t cut = 1000000) {
    for (size_t done = 0; done < x.size();) {
        const size_t n =
            static_cast<size_t>(std::min<uint64_t>({cut, x.size() - done, gain.samples_of_step(state)}));
        gain.heard(x.data() + done, n, state);
        done += n;
    }
}

// Words of 0.4 s at `level` dB, apart by 0.6 s of noise 50 dB below.
std::vector<float> words(double level, size_t count) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> x;
    for (size_t i = 0; i < count * rate; ++i) {
        const bool word = i % rate < rate * 4 / 10;
        x.push_back(normal(random) * static_cast<float>(std::pow(10, (level - (word ? 0 : 50)) / 20)));
    }
    return x;
}

} // namespace

TEST_CASE("gain: decibels become factors") {
    for (float x = -60; x <= 60; x += 0.37f)
        CHECK(factor_of(x) == doctest::Approx(std::pow(10.0, double{x} / 20)).epsilon(1e-6));
    Gain none, constant;
    none.build(rate, 0, false);
    constant.build(rate, 20, false);
    CHECK_FALSE(none.active());
    CHECK(constant.active());
    CHECK(automatic().active());
    CHECK(constant.factor(constant.begin()) == doctest::Approx(10));
}

TEST_CASE("gain: automatic gain brings words to the target from either side, slowly, and stays") {
    for (const double level : {-50.0, -40.0, -30.0, -20.0, -10.0}) {
        const Gain gain = automatic();
        GainState state = gain.begin();
        double before = 0;
        const std::vector<float> x = words(level, 40), second(x.begin(), x.begin() + rate);
        for (int i = 0; i < 40; ++i) {
            hear(gain, state, {x.begin() + i * rate, x.begin() + (i + 1) * rate});
            const double now = db(state.factor);
            CHECK(now - before < 0.4 * 6 + 0.1); // 6 dB in a second of sound
            CHECK(before - now < 0.4 * 24 + 0.1);
            before = now;
        }
        INFO(level);
        CHECK(std::fabs(before - std::clamp(-20 - level, -12.0, 30.0)) < 2);
    }
}

TEST_CASE("gain: silence, steady noise and what is not a number leave the gain alone") {
    const Gain gain = automatic();
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.001f);
    std::vector<float> noise(rate * 60), silence(rate * 60),
        bad(rate * 60, std::numeric_limits<float>::quiet_NaN());
    for (float &value : noise) value = normal(random);
    for (size_t i = 0; i < bad.size(); i += 3)
        bad[i] = i % 2 ? 1e30f : -std::numeric_limits<float>::infinity();
    for (const auto &x : {noise, silence, bad}) {
        GainState state = gain.begin();
        hear(gain, state, words(-40, 3));
        const float factor = state.factor;
        CHECK(factor > 1.5f);
        hear(gain, state, x);
        CHECK(std::fabs(db(state.factor) - db(factor)) < 7); // until the noise is the floor, a second
        const float settled = state.factor;
        hear(gain, state, x);
        CHECK(state.factor == settled);
        CHECK(gain.valid(state));
    }
}

TEST_CASE("gain: however the audio is split, the state is the same to the bit") {
    const std::vector<float> x = words(-35, 6);
    const Gain gain = automatic(3);
    GainState whole = gain.begin();
    hear(gain, whole, x);
    for (const size_t cut : {size_t{1}, size_t{7}, size_t{160}, size_t{161}, size_t{4096}}) {
        GainState state = gain.begin();
        hear(gain, state, x, cut);
        CHECK(state.factor == whole.factor);
        CHECK(state.floor == whole.floor);
        CHECK(state.sum == whole.sum);
        CHECK(state.count == whole.count);
    }
}

TEST_CASE("gain: a state that automatic gain cannot reach is not valid") {
    const Gain gain = automatic();
    const float nan = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();
    CHECK(gain.valid(gain.begin()));
    for (const float factor : {0.0f, 0.1f, 40.0f, -1.0f, nan, infinity})
        CHECK_FALSE(gain.valid({factor, 0, 0, 0}));
    for (const float value : {-1.0f, nan, infinity}) {
        CHECK_FALSE(gain.valid({1, value, 0, 0}));
        CHECK_FALSE(gain.valid({1, 0, value, 0}));
    }
    CHECK_FALSE(gain.valid({1, 0, 0, 160}));
    CHECK(gain.valid({1, 0, 0, 159}));
}

} // namespace gain_test
