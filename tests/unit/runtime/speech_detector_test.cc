// The speech detector from samples to events. That its segments are those of the package silero-vad
// shows tests/speech.
#include "tests/support/speech_session.h"
#include <cmath>
#include <limits>
#include <random>

namespace speech_detector_test {

using namespace longwave::test;

namespace {

constexpr int64_t row = 512;

std::vector<float> random_rows(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> probabilities;
    while (probabilities.size() < n) {
        const float level = random() % 2 ? 0.9f : 0.1f;
        for (uint32_t i = random() % 20 + 1; i > 0; --i)
            probabilities.push_back(level + 0.001f * static_cast<float>(random() % 300) - 0.15f);
    }
    probabilities.resize(n);
    return rows(probabilities);
}

} // namespace

TEST_CASE("speech: events come in their order, when the header says") {
    const Model model(speech_model());
    const auto of = detector(model);
    const std::vector<SpeechSeen> seen =
        heard(of.get(), speech({{10, 0}, {20, 1}, {10, 0}, {2, 1}, {10, 0.2f}}));
    // 480 samples of padding. Certain after more than 250 ms: 4,000 samples, 8 rows.
    const std::vector<SpeechSeen> expected = {
        {LW_SPEECH_BEGAN, 10 * row - 480, -1, 11 * row, 1},
        {LW_SPEECH_START, 10 * row - 480, -1, 18 * row, 1},
        // The pause begins with row 30, and row 34 completes 1,600 samples of it: 160 ms in all.
        {LW_SPEECH_END, 10 * row - 480, 30 * row + 480, 35 * row, 0},
        {LW_SPEECH_BEGAN, 40 * row - 480, -1, 41 * row, 1},
        {LW_SPEECH_DROPPED, 40 * row - 480, 42 * row, 47 * row, 0.2f},
    };
    REQUIRE(seen.size() == expected.size());
    for (size_t i = 0; i < seen.size(); ++i) {
        CAPTURE(i);
        CHECK(seen[i] == expected[i]);
    }
}

TEST_CASE("speech: with neighbours within twice the padding an end waits for the next segment") {
    const Model model(speech_model());
    lw_speech_detector_options options = f32_speech;
    options.speech_pad_ms = 300; // 4,800 samples; between the segments are 10 rows
    const std::vector<float> x = speech({{10, 0}, {20, 1}, {10, 0}, {20, 1}, {40, 0}});
    const auto of = detector(model, options);
    const std::vector<SpeechSeen> seen = heard(of.get(), x);
    REQUIRE(segments(seen) == std::vector<std::pair<int64_t, int64_t>>{{10 * row - 4800, 35 * row},
                                                                       {35 * row, 60 * row + 4800}});
    REQUIRE(seen.size() == 6);
    CHECK(seen[2] == SpeechSeen{LW_SPEECH_BEGAN, 35 * row, -1, 41 * row, 1});
    CHECK(seen[3] ==
          SpeechSeen{LW_SPEECH_END, 10 * row - 4800, 35 * row, 48 * row, 1}); // with the next START
    CHECK(seen[4].kind == LW_SPEECH_START);
    // What came too short to be a segment does not move the end in front of it.
    const auto other = detector(model, options);
    const std::vector<SpeechSeen> alone =
        heard(other.get(), speech({{10, 0}, {20, 1}, {10, 0}, {3, 1}, {40, 0}}));
    REQUIRE(segments(alone) == std::vector<std::pair<int64_t, int64_t>>{{10 * row - 4800, 30 * row + 4800}});
}

TEST_CASE("speech: an end is known within the time that the header states") {
    const Model model(speech_model());
    std::mt19937 random(3);
    for (int trial = 0; trial < 200; ++trial) {
        lw_speech_detector_options options = f32_speech;
        const double times[] = {-1, 30, 100, 250, 700};
        options.min_speech_ms = times[random() % 5];
        options.min_silence_ms = times[random() % 5];
        options.speech_pad_ms = times[random() % 5];
        const bool cuts = random() % 2;
        if (cuts) options.max_speech_s = 3;
        std::vector<float> probabilities; // none between the thresholds
        while (probabilities.size() < 300)
            for (uint32_t i = random() % 12 + 1, p = random() % 2; i > 0; --i)
                probabilities.push_back(p ? 0.5f : 0.2f);
        const auto of = detector(model, options);
        const auto samples = [](double ms) { return ms < 0 ? 0 : ms * 16; };
        const double bound = 2 * samples(options.speech_pad_ms) + samples(options.min_speech_ms) +
                             samples(options.min_silence_ms) + 3 * row + (cuts ? 3 * 16000 : 0);
        for (const SpeechSeen &event : heard(of.get(), rows(probabilities))) {
            if (event.kind != LW_SPEECH_END) continue;
            CHECK(static_cast<double>(event.tick - event.end) <= bound);
        }
    }
}

TEST_CASE("speech: events do not depend on how the audio is cut, nor on the format") {
    const Model model(speech_model());
    const std::vector<float> x = random_rows(400, 1);
    std::vector<int16_t> s16;
    std::vector<float> same;
    for (const float p : x) {
        s16.push_back(static_cast<int16_t>(std::lround(p * 32767)));
        same.push_back(static_cast<float>(s16.back()) / 32768);
    }
    const auto once = detector(model);
    const std::vector<SpeechSeen> expected = heard(once.get(), same);
    CHECK(segments(expected).size() > 5);
    for (const size_t cut : {size_t{1}, size_t{7}, size_t{441}, size_t{512}, size_t{513}, size_t{4096}}) {
        CAPTURE(cut);
        const auto of = detector(model);
        CHECK(heard(of.get(), same, cut) == expected);
    }
    lw_speech_detector_options options = f32_speech;
    options.format = LW_S16;
    const auto of = detector(model, options);
    CHECK(heard(of.get(), s16, 441) == expected);
    REQUIRE(lw_speech_detector_reset(once.get()) == LW_OK);
    CHECK(heard(once.get(), same) == expected);
}

TEST_CASE("speech: audio of 0, 1 and many samples ends where it ends") {
    const Model model(speech_model());
    const auto none = detector(model);
    CHECK(heard(none.get(), std::vector<float>{}).empty());
    lw_speech_detector_options all = f32_speech;
    all.min_speech_ms = -1;
    const auto one = detector(model, all);
    // Zeros complete the row; the segment ends with the audio.
    CHECK(segments(heard(one.get(), std::vector<float>{1})) ==
          std::vector<std::pair<int64_t, int64_t>>{{0, 1}});
    const auto quiet = detector(model);
    CHECK(segments(heard(quiet.get(), std::vector<float>{1})).empty()); // 1 sample is not 250 ms
    const auto many = detector(model);
    std::vector<float> x(1000001);
    for (size_t i = 0; i < x.size(); i += 512) x[i] = i / 100000 % 2 ? 0.9f : 0.1f;
    const auto found = segments(heard(many.get(), x));
    REQUIRE(found.size() == 5);
    CHECK(found[0].first == (100000 + 511) / 512 * 512 - 480);
    for (const auto extra : {size_t{0}, size_t{1}, size_t{511}}) {
        const auto of = detector(model);
        const std::vector<float> last = speech({{2, 0}, {20, 1}});
        std::vector<float> longer = last;
        longer.resize(last.size() + extra);
        if (extra) longer[last.size()] = 1;
        CHECK(segments(heard(of.get(), longer)).back().second == static_cast<int64_t>(longer.size()));
    }
}

TEST_CASE("speech: a longest segment is cut in its longest or its last pause") {
    const Model model(speech_model());
    // Speech with pauses of 7 and of 5 rows, which are shorter than min_silence.
    const std::vector<float> x = speech({{20, 1}, {7, 0}, {20, 1}, {5, 0}, {60, 1}, {20, 0}});
    lw_speech_detector_options options = f32_speech;
    options.min_silence_ms = 500;
    options.speech_pad_ms = -1;
    options.max_speech_s = 2;
    const auto longest = detector(model, options);
    CHECK(segments(heard(longest.get(), x))[0] == std::pair<int64_t, int64_t>{0, 20 * row});
    options.cut_at_last_silence = 1;
    const auto last = detector(model, options);
    CHECK(segments(heard(last.get(), x))[0] == std::pair<int64_t, int64_t>{0, 47 * row});
}

TEST_CASE("speech: each row can be an event") {
    const Model model(speech_model());
    lw_speech_detector_options options = f32_speech;
    options.rows = 1;
    const auto of = detector(model, options);
    std::vector<float> x = speech({{3, 0.25f}, {2, 0.125f}});
    x.resize(x.size() - 100);
    const std::vector<SpeechSeen> seen = heard(of.get(), x, 700);
    REQUIRE(seen.size() == 5);
    CHECK(seen[2] == SpeechSeen{LW_SPEECH_ROW, 2 * row, 3 * row, 3 * row, 0.25f});
    CHECK(seen[4] == SpeechSeen{LW_SPEECH_ROW, 4 * row, 5 * row - 100, 5 * row - 100, 0.125f});
}

TEST_CASE("speech: more events than may wait stop push and the end, and none is lost") {
    const Model model(speech_model());
    lw_speech_detector_options options = f32_speech;
    options.rows = 1;
    const auto once = detector(model, options), full = detector(model, options);
    std::vector<float> x = random_rows(200, 2);
    x.resize(x.size() - 5);
    const std::vector<SpeechSeen> expected = heard(once.get(), x, 100);
    std::vector<SpeechSeen> seen;
    for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
        REQUIRE(lw_speech_detector_push(full.get(), x.data() + done, x.size() - done, &taken) == LW_OK);
        if (done + taken < x.size()) CHECK(pull(full.get(), seen) == LW_AGAIN);
    }
    REQUIRE(lw_speech_detector_finish(full.get()) == LW_OK); // with events that wait
    REQUIRE(pull(full.get(), seen) == LW_END);
    CHECK(seen == expected);
    CHECK(lw_speech_detector_push(full.get(), x.data(), 1, nullptr) == LW_WRONG_STATE);
    CHECK(lw_speech_detector_finish(full.get()) == LW_WRONG_STATE);
    const auto ended = detector(model); // before the last events were pulled too
    REQUIRE(lw_speech_detector_finish(ended.get()) == LW_OK);
    CHECK(lw_speech_detector_push(ended.get(), x.data(), 1, nullptr) == LW_WRONG_STATE);
    CHECK(lw_speech_detector_finish(ended.get()) == LW_WRONG_STATE);
}

TEST_CASE("speech: a probability that is not finite decides nothing, the stream is reset, and time goes on") {
    // The probability of a row is the sum of all samples so far: what overflows it once is in it for
    // good.
    Draft draft = speech_model(16000, 10);
    draft.plan.sample_limit = 3e38f;
    draft.plan.weights_bytes = 0;
    draft.segments.pop_back();
    draft.plan.kernels.clear();
    draft.plan.variants[0]->entry.clear();
    draft.plan.variants[0]->scratch.clear();
    using longwave::fb::ArgKind;
    using longwave::fb::Elem;
    using longwave::fb::Space;
    add_kernel(draft, running_sum, "sum",
               {arg(ArgKind::input, Elem::f32, {{10, 1}}), arg(ArgKind::inout, Elem::f64, {{1, 1}}),
                arg(ArgKind::output, Elem::f32, {{3, 1}})});
    add_field(draft, "sum", "sum", longwave::fb::StateKind::carry, {1}, Elem::f64);
    draft.plan.entries[0]->steps[0] =
        call("sum", 0, bindings(at(Space::state, 0), at(Space::state, 64), at(Space::arena, 0)));
    const Model model(draft);
    std::vector<float> x(12000);
    x[1000] = 0.9f;            // speech from row 100 on
    x[3001] = x[3002] = 3e38f; // in row 300
    x[3015] = 0.9f;            // speech again in row 301
    x[8000] = -0.9f;
    lw_speech_detector_options options = f32_speech;
    options.speech_pad_ms = -1;
    std::vector<SpeechSeen> expected;
    for (const size_t cut : {12000, 1, 3, 10, 11, 160, 3000}) {
        const auto of = detector(model, options);
        const std::vector<SpeechSeen> seen = heard(of.get(), x, cut);
        if (cut == 12000) expected = seen;
        CHECK(seen == expected);
        CHECK(segments(seen) == std::vector<std::pair<int64_t, int64_t>>{{1000, 8000}});
        lw_stream_stats stats = LW_STREAM_STATS_INIT;
        REQUIRE(lw_speech_detector_get_stats(of.get(), &stats) == LW_OK);
        CHECK(stats.resets == 1);
        CHECK(stats.ticks == 12000);
    }
}

TEST_CASE("speech: gain is applied before the model") {
    const Model model(speech_model());
    std::vector<float> x = speech({{5, 0}, {20, 0.9f}, {10, 0}});
    const auto loud = detector(model);
    const auto expected = segments(heard(loud.get(), x));
    REQUIRE(expected.size() == 1);
    for (float &v : x) v *= 0.1f;
    const auto quiet = detector(model);
    CHECK(segments(heard(quiet.get(), x)).empty());
    lw_speech_detector_options options = f32_speech;
    options.gain_db = 20;
    const auto amplified = detector(model, options);
    CHECK(segments(heard(amplified.get(), x)) == expected);
    CHECK(lw_speech_detector_gain(amplified.get()) == doctest::Approx(10).epsilon(1e-6));
    options.gain_db = 0;
    options.auto_gain = 1;
    const auto first = detector(model, options), second = detector(model, options);
    CHECK(heard(first.get(), x, 1) == heard(second.get(), x, 1000));
}

TEST_CASE("speech: what it cannot be made from is refused, with the reason") {
    const Model model(speech_model()), words(spotter_model()), tokens(token_model()), two(audio_model());
    lw_speech_detector *none = nullptr;
    const auto last = [] { return std::string(lw_last_error()); };
    CHECK(lw_speech_detector_create(nullptr, &f32_speech, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_create(model, &f32_speech, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_create(model, nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(last().find("set the format") != std::string::npos);
    CHECK(lw_speech_detector_create(words, &f32_speech, &none) == LW_NOT_FOUND);
    CHECK(last() == "tiny-spotter has no output with one value for every so many samples");
    CHECK(lw_speech_detector_create(tokens, &f32_speech, &none) == LW_NOT_FOUND);
    CHECK(last() == "the model does not listen to audio");
    const auto with = [&](const lw_model *of, auto edit) {
        lw_speech_detector_options options = f32_speech;
        edit(options);
        return lw_speech_detector_create(of, &options, &none);
    };
    CHECK(with(words, [](auto &o) { o.output = "probabilities"; }) == LW_NOT_FOUND);
    CHECK(last() == "output probabilities has 3 values per row and 1 rows in 10 samples, not one value for "
                    "every so many");
    CHECK(with(model, [](auto &o) { o.output = "logits"; }) == LW_NOT_FOUND);
    Draft twice = speech_model();
    auto again = std::make_unique<longwave::fb::OutputPortT>(*twice.plan.entries[0]->outputs[0]);
    again->name = "other";
    twice.plan.entries[0]->outputs.push_back(std::move(again));
    const Model pair(twice);
    CHECK(with(pair, [](auto &) {}) == LW_NOT_FOUND);
    CHECK(last().find("several outputs") == 0);
    CHECK(with(pair, [](auto &o) { o.output = "other"; }) == LW_OK);
    lw_speech_detector_destroy(none);
    none = nullptr;
    const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
    const std::pair<double lw_speech_detector_options::*, std::vector<double>> wrong[] = {
        {&lw_speech_detector_options::threshold, {1.5, -0.1, nan}},
        {&lw_speech_detector_options::negative_threshold, {0.6, -0.1, nan}},
        {&lw_speech_detector_options::min_speech_ms, {3.6e6, nan, infinite}},
        {&lw_speech_detector_options::min_silence_ms, {3.6e6, nan, infinite}},
        {&lw_speech_detector_options::speech_pad_ms, {3.6e6, nan, infinite}},
        {&lw_speech_detector_options::min_silence_at_max_ms, {3.6e6, nan, infinite}},
        {&lw_speech_detector_options::max_speech_s, {-1, 0.1, nan, infinite}}};
    for (const auto &[field, values] : wrong)
        for (const double value : values) {
            CAPTURE(value);
            CHECK(with(model, [&](auto &o) { o.*field = value; }) == LW_INVALID_ARGUMENT);
        }
    CHECK(with(model, [](auto &o) { o.gain_db = 61; }) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_speech_detector_options: gain_db is not in -60 ... 60");
    CHECK(with(model, [](auto &o) { o.format = LW_I32; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.format = lw_sample_format(0); }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.struct_size = 0; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.block = 100; }) == LW_NOT_FOUND);
    CHECK(none == nullptr);
    lw_speech_detector_destroy(nullptr);
    CHECK(lw_speech_detector_push(nullptr, "", 0, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_pull(nullptr, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_finish(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_reset(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_hop(nullptr) == 0);
    const auto made = detector(model);
    CHECK(lw_speech_detector_hop(made.get()) == 512);
    CHECK(lw_speech_detector_push(made.get(), nullptr, 1, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(with(two, [](auto &o) { o.output = "y"; }) == LW_NOT_FOUND); // audio
}

} // namespace speech_detector_test
