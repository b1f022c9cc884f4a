// A spotter with gain hears quiet audio as it hears loud audio without; tiny_model.h says what its
// samples mean.
#include "longwave/spotter.h"
#include "tests/support/session.h"
#include "tests/support/spotter_options.h"
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace spotter_gain_test {

using namespace longwave::test;

namespace {

using Spotter = std::unique_ptr<lw_spotter, void (*)(lw_spotter *)>;
using Seen = std::vector<std::tuple<std::string, float, uint64_t>>;

lw_spotter_options options(lw_sample_format format, float gain_db, bool automatic = false) {
    lw_spotter_options options{};
    options.struct_size = sizeof options;
    options.format = format;
    options.gain_db = gain_db;
    options.auto_gain = automatic;
    return options;
}

Spotter made(const lw_model *model, const lw_spotter_options &options) {
    lw_spotter *spotter = nullptr;
    REQUIRE_MESSAGE(lw_spotter_create(model, &options, &spotter) == LW_OK, lw_last_error());
    return {spotter, lw_spotter_destroy};
}

// Rows of 10 samples whose first three are scores: words and silence, and noise in the rest.
std::vector<float> words(float level, size_t rows = 600) {
    std::mt19937 random(1);
    std::vector<float> x;
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < 10; ++j) {
            const bool word = i % 60 > 40;
            const float score = j == 1 + i / 60 % 2 ? word : 0.0f;
            x.push_back(level *
                        (j < 3 ? score : static_cast<float>(random() % 100) * (word ? 0.003f : 0.00003f)));
        }
    return x;
}

template <class T> void hear(lw_spotter *spotter, const T *x, size_t n, size_t cut, Seen &seen) {
    lw_spotter_event event{};
    event.struct_size = sizeof event;
    for (size_t done = 0; done < n;) {
        size_t taken = 0;
        REQUIRE(lw_spotter_push(spotter, x + done, std::min(cut, n - done), &taken) == LW_OK);
        done += taken;
        while (lw_spotter_pull(spotter, &event) == LW_OK)
            seen.emplace_back(event.word, event.score, event.tick);
    }
}

Seen heard(const lw_model *model, const lw_spotter_options &options, const std::vector<float> &x,
           size_t cut = 10000) {
    Seen seen;
    hear(made(model, options).get(), x.data(), x.size(), cut, seen);
    return seen;
}

} // namespace

TEST_CASE("spotter: with a constant gain quiet words are heard as loud ones") {
    const Model model(spotter_model());
    const Seen loud = heard(model, f32_spotter, words(1));
    CHECK(loud.size() >= 8);
    CHECK(heard(model, f32_spotter, words(0.1f)).empty());
    const Seen amplified = heard(model, options(LW_F32, 20), words(0.1f));
    REQUIRE(amplified.size() == loud.size());
    for (size_t i = 0; i < loud.size(); ++i) {
        CHECK(std::get<0>(amplified[i]) == std::get<0>(loud[i]));
        CHECK(std::get<1>(amplified[i]) == doctest::Approx(std::get<1>(loud[i])).epsilon(1e-5));
        CHECK(std::get<2>(amplified[i]) == std::get<2>(loud[i]));
    }
    CHECK(lw_spotter_gain(made(model, options(LW_F32, 20)).get()) == doctest::Approx(10));
    CHECK(lw_spotter_gain(made(model, f32_spotter).get()) == 1);
}

TEST_CASE("spotter: gain on 16-bit samples is gain on the floats that they mean") {
    const Model model(spotter_model());
    std::vector<int16_t> shorts;
    std::vector<float> floats;
    for (const float value : words(0.1f)) {
        shorts.push_back(static_cast<int16_t>(std::lround(value * 32768)));
        floats.push_back(static_cast<float>(shorts.back()) / 32768);
    }
    for (const bool automatic : {false, true}) {
        Seen seen;
        hear(made(model, options(LW_S16, 20, automatic)).get(), shorts.data(), shorts.size(), 777, seen);
        CHECK(!seen.empty());
        CHECK(seen == heard(model, options(LW_F32, 20, automatic), floats));
    }
}

TEST_CASE("spotter: gain does not depend on how the audio is cut") {
    const Model model(spotter_model());
    const std::vector<float> x = words(0.3f);
    for (const bool automatic : {false, true}) {
        const lw_spotter_options with = options(LW_F32, 12, automatic);
        Seen expected, seen;
        const Spotter once = made(model, with);
        hear(once.get(), x.data(), x.size(), 1000000, expected);
        CHECK(!expected.empty());
        for (const size_t cut : {1, 3, 7, 10, 11, 160, 257}) {
            const Spotter spotter = made(model, with);
            seen.clear();
            hear(spotter.get(), x.data(), x.size(), cut, seen);
            CHECK(seen == expected);
            CHECK(lw_spotter_gain(spotter.get()) == lw_spotter_gain(once.get()));
        }
        const float before = lw_spotter_gain(once.get());
        CHECK((before != doctest::Approx(std::pow(10, 0.6))) == automatic); // it has moved
        REQUIRE(lw_spotter_reset(once.get()) == LW_OK);
        seen.clear();
        hear(once.get(), x.data(), x.size(), 33, seen);
        CHECK(seen == expected);
    }
}

TEST_CASE("spotter: automatic gain is carried by copy, save and load, at any sample") {
    const Model model(spotter_model());
    const std::vector<float> x = words(0.3f);
    const lw_spotter_options with = options(LW_F32, 0, true);
    const Spotter whole = made(model, with);
    Seen expected;
    hear(whole.get(), x.data(), x.size(), 1000, expected);
    for (const size_t cut : {1, 155, 999, 2500, 5903}) {
        const Spotter first = made(model, with), loaded = made(model, with), copied = made(model, with);
        Seen before;
        hear(first.get(), x.data(), cut, 50, before);
        size_t n = 0;
        REQUIRE(lw_spotter_save(first.get(), nullptr, 0, &n) == LW_OK);
        std::vector<uint8_t> state(n);
        REQUIRE(lw_spotter_save(first.get(), state.data(), n, &n) == LW_OK);
        REQUIRE(lw_spotter_load(loaded.get(), state.data(), n) == LW_OK);
        REQUIRE(lw_spotter_copy(copied.get(), first.get()) == LW_OK);
        for (lw_spotter *spotter : {loaded.get(), copied.get()}) {
            Seen seen = before;
            hear(spotter, x.data() + cut, x.size() - cut, 50, seen);
            CHECK(seen == expected);
            CHECK(lw_spotter_gain(spotter) == lw_spotter_gain(whole.get()));
        }
    }
}

TEST_CASE("spotter: gain out of range is refused, and samples that are no numbers are still counted") {
    const Model model(spotter_model());
    lw_spotter *none = nullptr;
    for (const float db : {-61.0f, 61.0f, std::nanf("")}) {
        const lw_spotter_options bad = options(LW_F32, db);
        CHECK(lw_spotter_create(model, &bad, &none) == LW_INVALID_ARGUMENT);
        CHECK(std::string(lw_last_error()).find("gain_db") != std::string::npos);
    }
    for (const float db : {-13.0f, 31.0f}) {
        const lw_spotter_options bad = options(LW_F32, db, true);
        CHECK(lw_spotter_create(model, &bad, &none) == LW_INVALID_ARGUMENT);
    }
    const lw_spotter_options tokens = options(LW_I32, 3);
    CHECK(lw_spotter_create(model, &tokens, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_gain(nullptr) == 0);
    for (const bool automatic : {false, true}) {
        const Spotter spotter = made(model, options(LW_F32, 6, automatic));
        std::vector<float> x(100);
        x[3] = std::nanf(""), x[50] = INFINITY;
        Seen seen;
        hear(spotter.get(), x.data(), x.size(), 100, seen);
        lw_stream_stats stats{};
        stats.struct_size = sizeof stats;
        REQUIRE(lw_spotter_get_stats(spotter.get(), &stats) == LW_OK);
        CHECK(stats.non_finite == 2);
        CHECK(lw_spotter_push(spotter.get(), nullptr, 1, nullptr) == LW_INVALID_ARGUMENT);
    }
}

} // namespace spotter_gain_test
