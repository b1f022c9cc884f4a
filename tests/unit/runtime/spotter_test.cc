// The spotter from samples to events; its model's samples are the probabilities (tiny_model.h).
#include "longwave/spotter.h"
#include "tests/support/session.h"
#include "tests/support/spotter_options.h"
#include <doctest/doctest.h>
#include <random>
#include <string>

namespace spotter_test {

using namespace longwave::test;

namespace {

struct Spotter {
    explicit Spotter(const lw_model *model, const lw_spotter_options *options = &f32_spotter) {
        const lw_status status = lw_spotter_create(model, options, &spotter);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    ~Spotter() { lw_spotter_destroy(spotter); }
    lw_spotter *spotter = nullptr;
};

// `rows` rows of 10 samples in which `word` (1 yes, 2 no) has probability p and silence the rest.
void say(std::vector<float> &x, int word, float p, int rows) {
    for (int i = 0; i < rows; ++i) {
        float row[10] = {1 - p};
        row[word] += p;
        x.insert(x.end(), row, row + 10);
    }
}

struct Seen {
    std::string word;
    float score;
    uint64_t tick, tick_start, row;
    bool operator==(const Seen &) const = default;
};

std::vector<Seen> listen(lw_spotter *spotter, const std::vector<float> &x, const std::vector<size_t> &cuts) {
    std::vector<Seen> seen;
    lw_spotter_event event{};
    event.struct_size = sizeof event;
    auto pull = [&] {
        lw_status status;
        while ((status = lw_spotter_pull(spotter, &event)) == LW_OK)
            seen.push_back({event.word, event.score, event.tick, event.tick_start, event.row});
        REQUIRE((status == LW_AGAIN || status == LW_END));
    };
    for (size_t done = 0, i = 0; done < x.size(); ++i) {
        size_t taken = 0;
        REQUIRE(lw_spotter_push(spotter, x.data() + done, std::min(cuts[i % cuts.size()], x.size() - done),
                                &taken) == LW_OK);
        done += taken;
        pull();
    }
    REQUIRE(lw_spotter_finish(spotter) == LW_OK);
    pull();
    return seen;
}

std::vector<float> two_words() {
    std::vector<float> x;
    say(x, 1, 0, 20);
    say(x, 1, 1, 8);
    say(x, 1, 0, 30);
    say(x, 2, 0.75f, 8);
    say(x, 2, 0, 3);
    return x;
}

} // namespace

TEST_CASE("spotter: one event for each word, with its score and its ticks") {
    const Model model(spotter_model());
    Spotter spotter(model);
    const std::vector<Seen> seen = listen(spotter.spotter, two_words(), {64});
    REQUIRE(seen.size() == 2);
    // The average of three rows reaches 1 in row 22; the second row at the threshold is 23. Ticks
    // count to the end of the row that fired.
    CHECK(seen[0] == Seen{"yes", 1.0f, 240, 200, 23});
    CHECK(seen[1].word == "no");
    CHECK(seen[1].score == 0.75f);
    CHECK(seen[1].tick_start == 580);
}

TEST_CASE("spotter: events do not depend on how the audio is cut") {
    const Model model(spotter_model());
    Spotter once(model);
    const std::vector<Seen> expected = listen(once.spotter, two_words(), {10000});
    for (size_t cut : {1, 3, 7, 10, 11, 160}) {
        Spotter spotter(model);
        CHECK(listen(spotter.spotter, two_words(), {cut}) == expected);
    }
    REQUIRE(lw_spotter_reset(once.spotter) == LW_OK);
    CHECK(listen(once.spotter, two_words(), {10000}) == expected);
}

TEST_CASE("spotter: options override the artifact, word by word") {
    const Model model(spotter_model());
    {
        Spotter spotter(model);
        CHECK(lw_spotter_threshold(spotter.spotter, 0) == 0); // ignored
        CHECK(lw_spotter_threshold(spotter.spotter, 1) == 0.8f);
        CHECK(lw_spotter_threshold(spotter.spotter, 2) == 0.6f);
        CHECK(lw_spotter_threshold(spotter.spotter, 3) == 0);
    }
    const lw_word_threshold yes[] = {{"yes", 2.0f}};
    lw_spotter_options options = f32_spotter;
    options.threshold = 0.7f;
    options.words = yes;
    options.n_words = 1;
    {
        Spotter spotter(model, &options);
        CHECK(lw_spotter_threshold(spotter.spotter, 1) == 0); // switched off
        CHECK(lw_spotter_threshold(spotter.spotter, 2) == 0.7f);
        const std::vector<Seen> seen = listen(spotter.spotter, two_words(), {100});
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].word == "no");
    }
    options.n_words = 0;
    options.threshold = 0;
    options.smoothing_ms = -1;
    options.min_count = 1;
    options.refractory_ms = -1;
    {
        Spotter spotter(model, &options);
        const std::vector<Seen> seen = listen(spotter.spotter, two_words(), {100});
        REQUIRE(seen.size() == 2);
        CHECK(seen[0] == Seen{"yes", 1.0f, 210, 200, 20}); // at once
    }
}

TEST_CASE("spotter: more events than may wait stop push, and none is lost") {
    const Model model(spotter_model());
    lw_spotter_options options = f32_spotter;
    options.smoothing_ms = options.refractory_ms = -1;
    options.min_count = 1;
    Spotter spotter(model, &options);
    std::vector<float> x;
    for (int i = 0; i < 100; ++i) {
        say(x, 1, 1, 1);
        say(x, 1, 0, 1);
    }
    size_t taken = 0;
    REQUIRE(lw_spotter_push(spotter.spotter, x.data(), x.size(), &taken) == LW_OK);
    CHECK(taken < x.size());
    lw_spotter_event event{};
    event.struct_size = sizeof event;
    std::vector<uint64_t> rows;
    for (size_t done = taken;;) {
        while (lw_spotter_pull(spotter.spotter, &event) == LW_OK) rows.push_back(event.row);
        if (done == x.size()) break;
        REQUIRE(lw_spotter_push(spotter.spotter, x.data() + done, x.size() - done, &taken) == LW_OK);
        done += taken;
    }
    REQUIRE(rows.size() == 100);
    for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == 2 * i);
}

TEST_CASE("spotter: scores and stats can be watched") {
    const Model model(spotter_model());
    Spotter spotter(model);
    std::vector<float> x;
    say(x, 2, 0.3f, 5);
    REQUIRE(lw_spotter_push(spotter.spotter, x.data(), x.size(), nullptr) == LW_OK);
    const float *scores = nullptr;
    uint32_t n = 0;
    REQUIRE(lw_spotter_scores(spotter.spotter, &scores, &n) == LW_OK);
    REQUIRE(n == 3);
    CHECK(scores[2] == doctest::Approx(0.3f));
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    REQUIRE(lw_spotter_get_stats(spotter.spotter, &stats) == LW_OK);
    CHECK(stats.ticks == 50);
}

TEST_CASE(
    "spotter: scores that are no longer finite reset it, it says so, and where does not depend on cuts") {
    // The scores are 0, 1, 2 plus the sum of all samples so far: what overflows it once is in it
    // for good.
    Draft draft = spotter_model();
    draft.plan.sample_limit = 3e38f;
    draft.plan.weights_bytes = 0;
    draft.segments.pop_back();
    draft.plan.kernels.clear();
    draft.plan.variants[0]->entry.clear();
    draft.plan.variants[0]->scratch.clear();
    using longwave::fb::ArgKind;
    using longwave::fb::Elem;
    add_kernel(draft, running_sum, "sum",
               {arg(ArgKind::input, Elem::f32, {{10, 1}}), arg(ArgKind::inout, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}})});
    add_field(draft, "sum", "sum", longwave::fb::StateKind::carry, {1}, Elem::f64);
    using longwave::fb::Space;
    draft.plan.entries[0]->steps[0] =
        call("sum", 0, bindings(at(Space::state, 0), at(Space::state, 64), at(Space::arena, 0)));
    const Model model(draft);
    std::vector<float> x(600);
    x[203] = x[204] = 3e38f; // in row 20
    std::vector<Seen> expected;
    for (const size_t cut : {600, 1, 3, 7, 10, 11, 160, 200}) {
        Spotter spotter(model);
        const std::vector<Seen> seen = listen(spotter.spotter, x, {cut});
        REQUIRE(seen.size() == 2); // "no", with a score of 2: once at first, and once more after the reset
        if (cut == 600) expected = seen;
        CHECK(seen == expected);
        CHECK(seen[0].row == 1);
        CHECK(seen[1].row == 22);
        CHECK(seen[1].tick == 230);
        CHECK(seen[1].tick_start == 210);
        lw_stream_stats stats{};
        stats.struct_size = sizeof stats;
        REQUIRE(lw_spotter_get_stats(spotter.spotter, &stats) == LW_OK);
        CHECK(stats.resets == 1);
        CHECK(stats.ticks == 600);
        CHECK(stats.blocks == 60);
        CHECK(stats.non_finite_outputs == 3);
        CHECK(stats.poisoned == 0);
        REQUIRE(lw_spotter_reset(spotter.spotter) == LW_OK);
        REQUIRE(lw_spotter_get_stats(spotter.spotter, &stats) == LW_OK);
        CHECK(stats.resets == 0);
        CHECK(stats.ticks == 0);
    }
    x.resize(210); // at the end of the audio there is nothing to go on with
    Spotter spotter(model);
    CHECK(listen(spotter.spotter, x, {210}).size() == 1);
}

TEST_CASE("spotter: what it cannot be made from is refused") {
    const Model model(spotter_model()), audio(audio_model()), tokens(token_model());
    lw_spotter *none = nullptr;
    CHECK(lw_spotter_create(nullptr, nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_create(model, nullptr, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_create(audio, &f32_spotter, &none) == LW_NOT_FOUND); // no decision settings
    auto with = [&](auto edit) {
        Draft draft = spotter_model();
        edit(draft);
        const Model changed(draft);
        return lw_spotter_create(changed, &f32_spotter, &none);
    };
    CHECK(with([](Draft &d) { d.plan.decision->output = "logits"; }) == LW_NOT_FOUND);
    CHECK(with([](Draft &d) { d.plan.labels.push_back("maybe"); }) == LW_NOT_FOUND);
    CHECK(with([](Draft &d) { d.plan.inputs[0]->kind = longwave::fb::InputKind::features; }) == LW_NOT_FOUND);
    auto option = [&](auto edit) {
        lw_spotter_options options = f32_spotter;
        edit(options);
        return lw_spotter_create(model, &options, &none);
    };
    static const lw_word_threshold unknown = {"maybe", 0.5f}, zero = {"yes", 0}, nameless = {nullptr, 0.5f};
    CHECK(option([](auto &o) { o.struct_size = 0; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.threshold = 1.5f; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.threshold = -0.5f; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.release = 2; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.smoothing_ms = 1e9f; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.min_count = 1u << 31; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_words = 1; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_words = 1, o.words = &unknown; }) == LW_NOT_FOUND);
    CHECK(option([](auto &o) { o.n_words = 1, o.words = &zero; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_words = 1, o.words = &nameless; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.format = LW_I32; }) == LW_INVALID_ARGUMENT);
    CHECK(none == nullptr);
    lw_spotter_destroy(nullptr);
    CHECK(lw_spotter_push(nullptr, "", 0, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_pull(nullptr, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_finish(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_reset(nullptr) == LW_INVALID_ARGUMENT);
}

TEST_CASE("spotter: without options there is no format, and 16-bit samples are not heard as noise") {
    const Model model(spotter_model());
    lw_spotter *spotter = nullptr;
    CHECK(lw_spotter_create(model, nullptr, &spotter) == LW_INVALID_ARGUMENT);
    CHECK(spotter == nullptr);
    CHECK(std::string(lw_last_error()).find("set the format") != std::string::npos);
    size_t size, alignment;
    CHECK(lw_spotter_size(model, nullptr, &size, &alignment) == LW_INVALID_ARGUMENT);
}

} // namespace spotter_test
