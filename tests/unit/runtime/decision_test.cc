// The decision rule on made-up probabilities.
#include "runtime/kws/decision.h"
#include <doctest/doctest.h>
#include <random>
#include <vector>

namespace decision_test {

using namespace longwave::runtime;

namespace {

// Labels: 0 silence (never fires), 1 yes (threshold 0.8), 2 no (0.6).
struct Rule {
    explicit Rule(DecisionSettings settings) {
        settings.labels = 3;
        Parts measure(nullptr);
        decision.build(settings, measure);
        memory.resize(measure.used() + 64);
        Parts parts(memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64);
        decision.build(settings, parts);
        decision.thresholds()[0] = 2;
        decision.thresholds()[1] = 0.8f;
        decision.thresholds()[2] = 0.6f;
    }
    // Rows in which one word has the given probability and silence the rest; returns the rows that
    // fired.
    std::vector<uint64_t> feed(uint32_t word, std::initializer_list<float> probabilities) {
        std::vector<uint64_t> fired;
        for (float p : probabilities) {
            float row[3] = {1 - p, 0, 0};
            row[word] += p;
            if (!decision.row(row, &last)) continue;
            fired.push_back(last.row);
            words.push_back(last.label);
        }
        return fired;
    }
    std::vector<uint64_t> feed(uint32_t word, float probability, int rows) {
        std::vector<uint64_t> fired;
        for (int i = 0; i < rows; ++i)
            for (uint64_t row : feed(word, {probability})) fired.push_back(row);
        return fired;
    }
    Decision decision;
    Detection last{};
    std::vector<uint32_t> words;
    std::vector<uint8_t> memory;
};

using Fired = std::vector<uint64_t>;

} // namespace

TEST_CASE("decision: fires after min_count rows at the threshold, and once") {
    Rule rule({.min_count = 3});
    CHECK(rule.feed(1, {0.1f, 0.8f, 0.9f, 0.79f, 0.8f, 0.8f}) == Fired{});
    CHECK(rule.feed(1, {0.8f}) == Fired{6});
    CHECK(rule.last.label == 1);
    CHECK(rule.last.score == 0.8f);
    CHECK(rule.feed(1, 0.95f, 500) == Fired{});
}

TEST_CASE("decision: each word has its own threshold, ignored words none") {
    Rule rule({});
    CHECK(rule.feed(1, {0.7f}) == Fired{});
    CHECK(rule.feed(2, {0.7f}) == Fired{1});
    CHECK(rule.feed(0, 1.0f, 20) == Fired{});
}

TEST_CASE("decision: only the word on top fires") {
    Rule rule({});
    const float row[3] = {0.05f, 0.3f, 0.65f}, tie[3] = {0.7f, 0, 0.3f};
    CHECK(rule.decision.row(row, &rule.last));
    CHECK(rule.last.label == 2);
    rule.decision.reset();
    rule.decision.thresholds()[2] = 0.2f;
    CHECK(!rule.decision.row(tie, &rule.last)); // at its threshold, but silence is on top
}

TEST_CASE("decision: the average covers the window, and half a window counts as quiet") {
    Rule rule({.window = 4});
    CHECK(rule.feed(1, {1, 1, 1}) == Fired{}); // averages 0.25, 0.5, 0.75
    CHECK(rule.feed(1, {1}) == Fired{3});
    CHECK(rule.last.score == 1);
    CHECK(rule.last.first_row == 0);
    rule.decision.reset();
    CHECK(rule.feed(1, {1, 0, 1, 0, 1, 0, 1, 0}) == Fired{}); // never above 0.5
    CHECK(rule.decision.averages()[1] == 0.5f);
}

TEST_CASE("decision: after an event the word must fall below its release level") {
    Rule rule({.release = 0.5f});
    CHECK(rule.feed(1, {0.9f}) == Fired{0});
    CHECK(rule.feed(1, {0.41f, 0.9f, 0.5f, 0.95f}) == Fired{}); // never below 0.4
    CHECK(rule.feed(1, {0.39f, 0.9f}) == Fired{6});
}

TEST_CASE("decision: the refractory time counts from the end of the run, for every word") {
    Rule rule({.refractory = 5, .release = 0.5f});
    CHECK(rule.feed(1, 0.9f, 10) == Fired{0});
    CHECK(rule.feed(1, {0.1f}) == Fired{}); // row 10: released; rows 10 to 14 are quiet
    CHECK(rule.feed(2, 0.9f, 4) == Fired{});
    CHECK(rule.feed(2, 0.9f, 4) == Fired{15});
}

TEST_CASE("decision: a loud word during the hold fires when the hold ends, if it is still there") {
    Rule rule({.min_count = 3, .refractory = 2});
    CHECK(rule.feed(1, 0.9f, 3) == Fired{2});
    CHECK(rule.feed(2, 0.9f, 2) == Fired{}); // row 3 releases, rows 3 and 4 are quiet
    CHECK(rule.feed(2, 0.9f, 1) == Fired{5});
}

TEST_CASE("decision: an event knows where its word began") {
    Rule rule({.window = 3, .min_count = 2, .release = 0.5f});
    rule.feed(1, 0.0f, 10);
    rule.feed(1, {0.5f, 0.7f, 1.0f, 1.0f}); // row 10 is the first above 0.4
    CHECK(rule.feed(1, {1.0f}) == Fired{14});
    CHECK(rule.last.first_row == 10);
}

TEST_CASE("decision: reset forgets everything") {
    std::mt19937 random(2);
    std::uniform_real_distribution<float> uniform(0, 1);
    Rule used({.window = 7, .min_count = 2, .refractory = 9}),
        fresh({.window = 7, .min_count = 2, .refractory = 9});
    for (int i = 0; i < 1000; ++i) used.feed(1 + i % 2, {uniform(random)});
    used.decision.reset();
    for (int i = 0; i < 1000; ++i) {
        const float p = uniform(random);
        CHECK(used.feed(1 + i / 40 % 2, {p}) == fresh.feed(1 + i / 40 % 2, {p}));
    }
}

TEST_CASE("decision: the average does not drift") {
    Rule rule({.window = 30});
    std::mt19937 random(2);
    std::uniform_real_distribution<float> uniform(0, 0.5f);
    for (int i = 0; i < 100000; ++i) rule.feed(1, {uniform(random)});
    rule.feed(1, 0.25f, 30);
    CHECK(rule.decision.averages()[1] == doctest::Approx(0.25f).epsilon(1e-6));
}

} // namespace decision_test
