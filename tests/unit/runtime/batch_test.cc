// Streams and spotters that run together against single ones.
#include "longwave/batch.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/speech_session.h"
#include "tests/support/spotter_options.h"
#include "tests/support/tiny_family.h"
#include "tests/support/tiny_text.h"
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <string>
#include <tuple>

namespace batch_test {

using namespace longwave::test;

namespace {

struct Batch {
    explicit Batch(const lw_model *model) { REQUIRE(lw_batch_create(model, &handle) == LW_OK); }
    ~Batch() { lw_batch_destroy(handle); }
    Batch(const Batch &) = delete;
    lw_batch *handle = nullptr;
};

using Streams = std::vector<std::unique_ptr<Stream>>;

Streams streams_of(const lw_model *model, size_t n, uint32_t queue = 0) {
    Streams streams;
    for (size_t i = 0; i < n; ++i) streams.push_back(std::make_unique<Stream>(model, LW_F32, queue));
    return streams;
}

std::vector<lw_stream *> handles(const Streams &streams) {
    std::vector<lw_stream *> list;
    for (const auto &stream : streams) list.push_back(*stream);
    return list;
}

// Pushes x[i] to stream i in random pieces, until all is in.
void push_together(lw_batch *batch, const Streams &streams, const std::vector<std::vector<float>> &x,
                   std::vector<Rows> &rows, uint32_t seed) {
    std::mt19937 random(seed);
    const size_t n = streams.size();
    std::vector<size_t> at(n), counts(n), taken(n, 99);
    std::vector<const void *> samples(n);
    const std::vector<lw_stream *> list = handles(streams);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; ++i) {
            counts[i] = std::min<size_t>(random() % 25, x[i].size() - at[i]);
            samples[i] = counts[i] ? x[i].data() + at[i] : nullptr;
        }
        REQUIRE(lw_batch_push(batch, list.data(), n, samples.data(), counts.data(), taken.data()) == LW_OK);
        for (size_t i = 0; i < n; ++i) {
            CHECK(taken[i] <= counts[i]);
            at[i] += taken[i];
            more = more || at[i] < x[i].size();
            pull_all(list[i], &rows[i]);
        }
    }
}

using Heard = std::tuple<std::string, float, uint64_t, uint64_t, uint64_t>;

std::vector<Heard> heard(lw_spotter *spotter) {
    std::vector<Heard> list;
    lw_spotter_event event{};
    event.struct_size = sizeof event;
    while (lw_spotter_pull(spotter, &event) == LW_OK)
        list.emplace_back(event.word, event.score, event.tick, event.tick_start, event.row);
    return list;
}

bool detail(const char *text) { return std::strstr(lw_last_error(), text) != nullptr; }

} // namespace

TEST_CASE("batch: every stream has the rows that it has alone") {
    for (const Draft &draft : {together_model(), audio_model(), family_model()}) {
        const Model model(draft);
        const Batch batch(model);
        CHECK(lw_batch_streams(batch.handle) == (draft.plan.name == "tiny-together" ? 4u : 1u));
        for (const size_t n : {1, 2, 3, 4, 5, 9, 16}) {
            const Streams streams = streams_of(model, n);
            std::vector<std::vector<float>> x;
            for (size_t i = 0; i < n; ++i) x.push_back(noise(70 + 10 * i, static_cast<uint32_t>(i + 1)));
            std::vector<Rows> rows(n);
            push_together(batch.handle, streams, x, rows, static_cast<uint32_t>(n));
            for (size_t i = 0; i < n; ++i) {
                Stream alone(model);
                Rows expected;
                push_all(alone, x[i], &expected);
                pull_all(alone, &expected);
                CHECK(rows[i] == expected);
                CHECK(save(*streams[i]) == save(alone));
            }
        }
    }
}

TEST_CASE("batch: a full queue stops one stream and no other") {
    const Model model(together_model());
    const Batch batch(model);
    const Streams streams = streams_of(model, 2, 1);
    const std::vector<float> x = noise(50);
    const std::vector<lw_stream *> list = handles(streams);
    const void *samples[] = {x.data(), x.data()};
    const size_t counts[] = {50, 10};
    size_t taken[2];
    REQUIRE(lw_batch_push(batch.handle, list.data(), 2, samples, counts, taken) == LW_OK);
    CHECK(taken[0] == 19); // a row waits: the next block stays a tick short
    CHECK(taken[1] == 10);
}

TEST_CASE("batch: a kernel that fails ends its stream, and the others go on") {
    const Model model(failing_model());
    const Batch batch(model);
    const Streams streams = streams_of(model, 3);
    const std::vector<lw_stream *> list = handles(streams);
    const float good[] = {1, 2}, bad[] = {2000, 0};
    const void *samples[] = {good, bad, good};
    const size_t counts[] = {2, 2, 2};
    size_t taken[3];
    CHECK(lw_batch_push(batch.handle, list.data(), 3, samples, counts, taken) == LW_DEVICE);
    lw_stream_row row{};
    row.struct_size = sizeof row;
    CHECK(lw_stream_pull(list[0], &row) == LW_OK);
    CHECK(lw_stream_pull(list[1], &row) == LW_WRONG_STATE);
    CHECK(lw_stream_pull(list[2], &row) == LW_OK);
    CHECK(lw_batch_push(batch.handle, list.data(), 3, samples, counts, taken) == LW_WRONG_STATE);
    CHECK(taken[0] == 0);
    REQUIRE(lw_stream_reset(list[1]) == LW_OK);
    samples[1] = good;
    CHECK(lw_batch_push(batch.handle, list.data(), 3, samples, counts, taken) == LW_OK);
}

TEST_CASE("batch: spotters have the events that they have alone, also after scores that are not finite") {
    const Model model(together_model());
    const Batch batch(model);
    constexpr size_t n = 7, ticks = 1200;
    std::vector<std::vector<float>> x(n, std::vector<float>(ticks));
    for (size_t i = 0; i < n; ++i)
        for (size_t t = 0; t < ticks; t += 10) {
            const size_t phase = (t / 10 + 5 * i) % 40;
            x[i][t + 1] = phase < 8 ? 1.0f : 0.0f;
            x[i][t + 2] = phase > 20 && phase < 27 ? 1.0f : 0.0f;
        }
    for (const float gain : {0.0f, -0.5f}) {
        std::vector<lw_spotter *> together(n), alone(n);
        lw_spotter_options options = f32_spotter;
        options.gain_db = gain;
        for (size_t i = 0; i < n; ++i) {
            REQUIRE(lw_spotter_create(model, &options, &together[i]) == LW_OK);
            REQUIRE(lw_spotter_create(model, &options, &alone[i]) == LW_OK);
        }
        std::mt19937 random(1);
        std::vector<size_t> at(n), counts(n), taken(n);
        std::vector<const void *> samples(n);
        size_t events = 0;
        for (bool more = true; more;) {
            more = false;
            for (size_t i = 0; i < n; ++i) {
                counts[i] = std::min<size_t>(random() % 90, ticks - at[i]);
                samples[i] = x[i].data() + at[i];
            }
            REQUIRE(lw_batch_push_spotters(batch.handle, together.data(), n, samples.data(), counts.data(),
                                           taken.data()) == LW_OK);
            for (size_t i = 0; i < n; ++i) {
                size_t own = 0;
                REQUIRE(lw_spotter_push(alone[i], samples[i], counts[i], &own) == LW_OK);
                CHECK(own == taken[i]);
                const std::vector<Heard> expected = heard(alone[i]);
                CHECK(heard(together[i]) == expected);
                events += expected.size();
                at[i] += taken[i];
                more = more || at[i] < ticks;
            }
        }
        CHECK(events > 20);
        for (size_t i = 0; i < n; ++i) lw_spotter_destroy(together[i]), lw_spotter_destroy(alone[i]);
    }
}

TEST_CASE("batch: speech detectors have the events that they have alone, also with gain and where rows fill "
          "the list") {
    const Model model(speech_model());
    const Batch batch(model);
    constexpr size_t n = 5;
    std::mt19937 random(2);
    for (const float gain : {0.0f, -0.5f}) {
        lw_speech_detector_options options = f32_speech;
        options.gain_db = gain;
        options.rows = 1;
        std::vector<Detector> together, alone;
        std::vector<lw_speech_detector *> list;
        std::vector<std::vector<float>> x;
        for (size_t i = 0; i < n; ++i) {
            together.push_back(detector(model, options));
            alone.push_back(detector(model, options));
            list.push_back(together[i].get());
            std::vector<std::pair<int, float>> runs;
            for (int run = 0; run < 20; ++run)
                runs.emplace_back(1 + static_cast<int>(random() % 15), random() % 2 ? 0.9f : 0.1f);
            x.push_back(speech(runs));
        }
        std::vector<size_t> at(n), counts(n), taken(n);
        std::vector<const void *> samples(n);
        std::vector<std::vector<SpeechSeen>> seen(n);
        bool waited = false;
        for (bool more = true; more;) {
            more = false;
            for (size_t i = 0; i < n; ++i) {
                counts[i] = std::min<size_t>(random() % 40000, x[i].size() - at[i]);
                samples[i] = x[i].data() + at[i];
            }
            REQUIRE(lw_batch_push_speech_detectors(batch.handle, list.data(), n, samples.data(),
                                                   counts.data(), taken.data()) == LW_OK);
            for (size_t i = 0; i < n; ++i) {
                size_t own = 0;
                REQUIRE(lw_speech_detector_push(alone[i].get(), samples[i], counts[i], &own) == LW_OK);
                CHECK(own == taken[i]);
                waited = waited || taken[i] < counts[i];
                std::vector<SpeechSeen> expected;
                pull(alone[i].get(), expected);
                const size_t before = seen[i].size();
                pull(list[i], seen[i]);
                CHECK(std::vector<SpeechSeen>(seen[i].begin() + static_cast<ptrdiff_t>(before),
                                              seen[i].end()) == expected);
                at[i] += taken[i];
                more = more || at[i] < x[i].size();
            }
        }
        CHECK(waited);
        size_t found = 0;
        for (const auto &events : seen) found += segments(events).size();
        CHECK(found > 2 * n);
        // What is wrong is refused.
        counts.assign(n, 1);
        const auto refused = [&](const char *text) {
            const lw_status status = lw_batch_push_speech_detectors(
                batch.handle, list.data(), 2, samples.data(), counts.data(), taken.data());
            CHECK(detail(text));
            CHECK(taken[0] + taken[1] == 0);
            return status;
        };
        lw_speech_detector *const second = list[1];
        list[1] = list[0];
        CHECK(refused("stream 1 of the call occurs twice") == LW_INVALID_ARGUMENT);
        list[1] = nullptr;
        CHECK(refused("speech detector 1 of the call is NULL") == LW_INVALID_ARGUMENT);
        list[1] = second;
        samples[1] = nullptr;
        CHECK(refused("samples of speech detector 1 of the call are NULL") == LW_INVALID_ARGUMENT);
        samples[1] = x[1].data();
        REQUIRE(lw_speech_detector_finish(second) == LW_OK);
        CHECK(refused("the speech detector is finished") == LW_WRONG_STATE);
        CHECK(lw_batch_push_speech_detectors(nullptr, list.data(), 2, samples.data(), counts.data(),
                                             taken.data()) == LW_INVALID_ARGUMENT);
    }
}

TEST_CASE("batch: generators have the ids that they have alone") {
    const Model model(bigram_model(alphabet()));
    const Batch batch(model);
    constexpr size_t n = 5;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<lw_generator *> together(n), alone(n);
    for (size_t i = 0; i < n; ++i) {
        lw_generator_options options{};
        options.struct_size = sizeof options;
        options.seed = i;
        options.temperature = 2;
        const int32_t prompt[] = {static_cast<int32_t>('a' + i)};
        for (lw_generator **made : {&together[i], &alone[i]}) {
            streams.push_back(std::make_unique<Stream>(model, LW_I32));
            REQUIRE(lw_generator_create(*streams.back(), &options, made) == LW_OK);
            REQUIRE(lw_generator_prompt(*made, prompt, 1) == LW_OK);
        }
    }
    std::vector<lw_generator_token> tokens(n);
    std::vector<lw_status> statuses(n);
    for (auto &token : tokens) token.struct_size = sizeof token;
    for (int turn = 0; turn < 50; ++turn) {
        REQUIRE(lw_batch_next(batch.handle, together.data(), n, tokens.data(), statuses.data()) == LW_OK);
        for (size_t i = 0; i < n; ++i) {
            lw_generator_token token{};
            token.struct_size = sizeof token;
            REQUIRE(lw_generator_next(alone[i], &token) == LW_OK);
            CHECK(statuses[i] == LW_OK);
            CHECK(tokens[i].id == token.id);
            CHECK(tokens[i].position == token.position);
        }
    }
    lw_generator *const twice[] = {together[0], together[0]};
    CHECK(lw_batch_next(batch.handle, twice, 2, tokens.data(), statuses.data()) == LW_INVALID_ARGUMENT);
    CHECK(detail("occurs twice"));
    tokens[1].struct_size = 0;
    CHECK(lw_batch_next(batch.handle, together.data(), 2, tokens.data(), statuses.data()) ==
          LW_INVALID_ARGUMENT);
    CHECK(lw_batch_next(batch.handle, together.data(), 1, tokens.data(), nullptr) == LW_INVALID_ARGUMENT);
    for (size_t i = 0; i < n; ++i) lw_generator_destroy(together[i]), lw_generator_destroy(alone[i]);
}

TEST_CASE("batch: what is wrong is refused, and no stream takes anything") {
    const Model model(together_model()), other(together_model());
    const Batch batch(model);
    Stream a(model), b(model), foreign(other);
    const std::vector<float> x = noise(20);
    const void *samples[] = {x.data(), x.data()};
    const size_t counts[] = {20, 20};
    size_t taken[2] = {9, 9};
    const auto push = [&](lw_stream *first, lw_stream *second, const char *text) {
        lw_stream *const list[] = {first, second};
        CHECK(lw_batch_push(batch.handle, list, 2, samples, counts, taken) == LW_INVALID_ARGUMENT);
        CHECK(detail(text));
        CHECK(taken[0] + taken[1] == 0);
    };
    push(a, nullptr, "stream 1 of the call is NULL");
    push(a, a, "stream 1 of the call occurs twice");
    push(foreign, a, "stream 0 of the call is of another model");
    samples[1] = nullptr;
    push(a, b, "samples is NULL (stream 1 of the call)");
    lw_stream *const list[] = {a, b};
    CHECK(lw_batch_push(nullptr, list, 2, samples, counts, taken) == LW_INVALID_ARGUMENT);
    CHECK(lw_batch_push(batch.handle, list, 2, samples, counts, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_batch_push(batch.handle, nullptr, 0, nullptr, nullptr, nullptr) == LW_OK);
    CHECK(stats_of(a).ticks + stats_of(b).ticks == 0);
    size_t one = 0;
    CHECK(lw_stream_push(a, x.data(), 10, &one) == LW_OK); // it is nobody's any more
    CHECK(stats_of(a).blocks == 1);
    lw_batch *none = nullptr;
    CHECK(lw_batch_create(nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_batch_create(model, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_batch_create(Model(tiles_model()), &none) == LW_NO_STREAM);
    lw_batch_destroy(nullptr);
    CHECK(lw_batch_streams(nullptr) == 0);
}

TEST_CASE("batch: it keeps its model, and streams may go before it and after it") {
    lw_batch *batch = nullptr;
    {
        const Model model(together_model());
        REQUIRE(lw_batch_create(model, &batch) == LW_OK);
        Stream stream(model);
    }
    CHECK(lw_batch_streams(batch) == 4);
    lw_batch_destroy(batch);
}

} // namespace batch_test
