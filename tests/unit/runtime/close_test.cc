// The order of ends: a model that is closed, and a stream that is destroyed, go with the last object
// on them. The allocator tells when.
#include "longwave/generator.h"
#include "longwave/spotter.h"
#include "tests/support/meter.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/speech_options.h"
#include "tests/support/spotter_options.h"
#include "tests/support/tiny_text.h"
#include <doctest/doctest.h>
#include <functional>
#include <thread>

namespace close_test {

using namespace longwave::test;

namespace {

struct Metered {
    Meter meter;
    lw_model *model = nullptr;

    explicit Metered(const Draft &draft) {
        lw_open_options options = LW_OPEN_OPTIONS_INIT;
        options.allow_unsigned_code = 1;
        options.allocator = &meter.allocator;
        const std::vector<uint8_t> bytes = draft.bytes();
        REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    }
};

// Memory of the caller, aligned.
struct Memory {
    std::vector<uint8_t> bytes;
    uint8_t *at;
    explicit Memory(size_t size)
        : bytes(size + 64), at(bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64) {}
};

} // namespace

TEST_CASE(
    "close: a model with live streams, runners and spotters goes with the last of them, whichever that is") {
    for (int last = 0; last < 3; ++last) {
        Metered opened(spotter_model());
        lw_stream *stream = nullptr;
        lw_runner *runner = nullptr;
        lw_spotter *spotter = nullptr;
        REQUIRE(lw_stream_create(opened.model, &f32_stream, &stream) == LW_OK);
        const bool runs = lw_runner_create(opened.model, &f32_runner, &runner) == LW_OK;
        REQUIRE(lw_spotter_create(opened.model, &f32_spotter, &spotter) == LW_OK);
        lw_model_close(opened.model);
        const std::function<void()> ends[] = {[&] { lw_stream_destroy(stream); },
                                              [&] { lw_runner_destroy(runner); },
                                              [&] { lw_spotter_destroy(spotter); }};
        const std::vector<float> x = noise(200);
        Rows rows;
        push_all(stream, x, &rows);
        pull_all(stream, &rows);
        CHECK(!rows.empty());
        CHECK(lw_spotter_push(spotter, x.data(), x.size(), nullptr) == LW_OK);
        if (last == 1 && !runs) continue;
        for (int i = 0; i < 3; ++i)
            if (i != last) ends[i]();
        CHECK(opened.meter.now > 0);
        if (last == 0) CHECK(lw_stream_push(stream, x.data(), 1, nullptr) == LW_OK);
        ends[last]();
        CHECK(opened.meter.now == 0);
    }
}

TEST_CASE("close: streams and spotters in the caller's memory keep their model too") {
    Metered opened(spotter_model());
    size_t size = 0, alignment = 0;
    REQUIRE(lw_spotter_size(opened.model, &f32_spotter, &size, &alignment) == LW_OK);
    Memory of_spotter(size);
    lw_spotter *spotter = nullptr;
    REQUIRE(lw_spotter_init(opened.model, &f32_spotter, of_spotter.at, size, &spotter) == LW_OK);
    REQUIRE(lw_stream_size(opened.model, &f32_stream, &size, &alignment) == LW_OK);
    Memory of_stream(size);
    lw_stream *stream = nullptr;
    for (int i = 0; i < 3; ++i) { // begun and ended in place, again and again
        REQUIRE(lw_stream_init(opened.model, &f32_stream, of_stream.at, size, &stream) == LW_OK);
        lw_stream_destroy(stream);
    }
    REQUIRE(lw_stream_init(opened.model, &f32_stream, of_stream.at, size, &stream) == LW_OK);
    lw_model_close(opened.model);
    const std::vector<float> x = noise(200);
    CHECK(lw_spotter_push(spotter, x.data(), x.size(), nullptr) == LW_OK);
    lw_spotter_destroy(spotter);
    CHECK(opened.meter.now > 0);
    CHECK(lw_stream_push(stream, x.data(), 1, nullptr) == LW_OK);
    lw_stream_destroy(stream);
    CHECK(opened.meter.now == 0);
}

TEST_CASE("close: a speech detector keeps its model") {
    Metered opened(speech_model(1000, 10));
    size_t size = 0, alignment = 0;
    REQUIRE(lw_speech_detector_size(opened.model, &f32_speech, &size, &alignment) == LW_OK);
    Memory in_place(size);
    lw_speech_detector *first = nullptr, *second = nullptr;
    REQUIRE(lw_speech_detector_init(opened.model, &f32_speech, in_place.at, size, &first) == LW_OK);
    REQUIRE(lw_speech_detector_create(opened.model, &f32_speech, &second) == LW_OK);
    lw_model_close(opened.model);
    const std::vector<float> x = noise(200);
    CHECK(lw_speech_detector_push(first, x.data(), x.size(), nullptr) == LW_OK);
    lw_speech_detector_destroy(first);
    CHECK(opened.meter.now > 0);
    CHECK(lw_speech_detector_push(second, x.data(), x.size(), nullptr) == LW_OK);
    lw_speech_detector_destroy(second);
    CHECK(opened.meter.now == 0);
}

TEST_CASE("close: a generator keeps its stream, and that its model") {
    Metered opened(bigram_model(alphabet()));
    lw_stream *stream = nullptr;
    lw_generator *first = nullptr, *second = nullptr;
    REQUIRE(lw_stream_create(opened.model, nullptr, &stream) == LW_OK);
    REQUIRE(lw_generator_create(stream, nullptr, &first) == LW_OK);
    REQUIRE(lw_generator_create(stream, nullptr, &second) == LW_OK);
    lw_model_close(opened.model);
    lw_stream_destroy(stream);
    lw_generator_destroy(first);
    const int32_t ids[] = {'a', 'b'};
    REQUIRE(lw_generator_prompt(second, ids, 2) == LW_OK);
    lw_generator_token token = LW_GENERATOR_TOKEN_INIT;
    REQUIRE(lw_generator_next(second, &token) == LW_OK);
    CHECK(token.id == 'c');
    CHECK(opened.meter.now > 0);
    lw_generator_destroy(second);
    CHECK(opened.meter.now == 0);
}

TEST_CASE("close: a creation that fails keeps nothing") {
    Metered opened(audio_model());
    lw_stream *stream = nullptr;
    lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    CHECK(lw_stream_create(opened.model, &options, &stream) == LW_INVALID_ARGUMENT);
    options = f32_stream;
    options.block = 12345;
    CHECK(lw_stream_create(opened.model, &options, &stream) == LW_NOT_FOUND);
    lw_model_close(opened.model);
    CHECK(opened.meter.now == 0);
}

TEST_CASE("close: threads may end their streams while another closes the model") {
    for (int i = 0; i < 50; ++i) {
        Metered opened(audio_model());
        lw_stream *streams[4];
        for (lw_stream *&stream : streams)
            REQUIRE(lw_stream_create(opened.model, &f32_stream, &stream) == LW_OK);
        std::vector<std::thread> threads;
        for (lw_stream *stream : streams) threads.emplace_back([=] { lw_stream_destroy(stream); });
        lw_model_close(opened.model);
        for (std::thread &thread : threads) thread.join();
        CHECK(opened.meter.now == 0);
    }
}

} // namespace close_test
