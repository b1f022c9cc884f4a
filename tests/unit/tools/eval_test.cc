// What `longwave eval` counts, on events and sounds made by hand.
#include "tools/cli/audio/score_panel.h"
#include "tools/cli/commands/eval_curve.h"
#include "tools/cli/commands/eval_words.h"
#include <cmath>
#include <doctest/doctest.h>

namespace eval_test {

using namespace longwave::cli;

namespace {

constexpr uint64_t second = 16000;

// Two slots of 3 s, each with a word of label 0 from 0.5 s to 1.0 s, and one with an ignored label.
WordStream three_slots() {
    WordStream stream;
    stream.rate = second;
    for (uint64_t i = 0; i < 3; i++)
        stream.slots.push_back({.label = i < 2 ? 0u : 2u,
                                .speaker = i == 0 ? "a" : "b",
                                .begin = 3 * i * second,
                                .end = 3 * (i + 1) * second,
                                .word_begin = 3 * i * second + second / 2,
                                .word_end = 3 * i * second + second,
                                .word = i < 2});
    return stream;
}

} // namespace

TEST_CASE("eval: MLPerf Tiny counts an event until one second after its word") {
    const WordStream stream = three_slots();
    const auto score = [&](const std::vector<ScoredEvent> &events) { return mlperf_tiny(stream, events); };
    // The last moment for the first, too late for the second.
    auto found = score({{0, 2 * second}, {0, 5 * second + 1}});
    CHECK(found["true_positives"] == 1);
    CHECK(found["false_negatives"] == 1);
    CHECK(found["false_positives"] == 1);
    found = score({{0, second}, {0, second + 100}, {0, 4 * second}}); // twice in one word is not a mistake
    CHECK(found["true_positives"] == 2);
    CHECK(found["false_positives"] == 0);
    // Another word; the first two count once.
    found = score({{1, second}, {1, second + 100}, {1, 2 * second + 50}});
    CHECK(found["true_positives"] == 0);
    CHECK(found["false_positives"] == 2);
    CHECK(found["false_negatives_of_50"] == doctest::Approx(50));
    CHECK(found["false_positives_in_20_min"] == doctest::Approx(2 * 1200.0 / 9));
}

TEST_CASE("eval: words, latency and speakers") {
    const WordStream stream = three_slots();
    const WordResult result = judge(stream, {{0, second + 3200}, {1, 4 * second}, {0, 7 * second}});
    CHECK(result.words == 2);
    CHECK(result.missed == 1);
    CHECK(result.wrong == 1);
    CHECK(result.on_others == 1);
    REQUIRE(result.latency_ms.size() == 3);
    CHECK(result.latency_ms[0] == doctest::Approx(200));
    CHECK(std::isnan(result.latency_ms[1]));
    const auto speakers = speakers_of(stream, result);
    CHECK(speakers["speakers"] == 2);
    CHECK(speakers["worst"][0]["speaker"] == "b");
    CHECK(speakers["worst_decile"]["rate"] == 1.0);
}

TEST_CASE("eval: the sound of a clip ends where it falls 25 dB") {
    std::vector<float> clip(second, 0.0f);
    for (size_t i = 4800; i < 9600; i++) clip[i] = 0.5f * static_cast<float>(std::sin(0.3 * double(i)));
    // -34 dB.
    for (size_t i = 9600; i < second; i++) clip[i] = 0.01f * static_cast<float>(std::sin(0.3 * double(i)));
    const auto [begin, end] = sound_in(clip, second);
    CHECK(begin == 4800);
    CHECK(end == 9600);
    CHECK(sound_in({}, second).second == 0);
}

TEST_CASE("eval: the speaker in a file name") {
    CHECK(speaker_of("x/yes/0a2b400e_nohash_1.flac") == "0a2b400e");
    CHECK(speaker_of("x/_unknown_/six_a80f9f53_nohash_0.flac") == "a80f9f53");
    CHECK(speaker_of("anna-3.wav") == "anna");
}

TEST_CASE("eval: points of a curve without events have a bound") {
    const CurvePoint none{.threshold = 0.5f, .missed = 1, .words = 4, .false_accepts = 0, .hours = 3};
    CHECK(none.per_hour_bound() == doctest::Approx(0.9986).epsilon(0.001)); // 2.9957 / 3
    CHECK(curve_csv({none}).find("0.500,1,4,0.25000,") != std::string::npos);
}

TEST_CASE("listen: bars are drawn in place and removed") {
    ScorePanel panel({"yes", "no"}, {0.5f, 2});
    CHECK(panel.clear().empty());
    const std::string first = panel.draw({0.9f, 0.1f}, 1.0);
    CHECK(first.find("\033[3A") == std::string::npos);
    CHECK(first.find("0.900") != std::string::npos);
    CHECK(panel.draw({0.1f, 0.1f}, 1.1).starts_with("\033[3A"));
    CHECK(panel.clear() == "\033[3A\033[J");
}

} // namespace eval_test
