// What a caller forgets, and what lw_last_error says: never the text of another call.
#include "longwave/generator.h"
#include "longwave/resampler.h"
#include "longwave/spotter.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/spotter_options.h"
#include "tests/support/tiny_family.h"
#include "tests/support/tiny_text.h"
#include <cstring>
#include <doctest/doctest.h>
#include <string>

namespace errors_test {

using namespace longwave::test;

namespace {

std::string last() { return lw_last_error(); }

// A struct of an older program, of which the library may touch `size` bytes, and of a newer one.
template <class Struct> struct Sized {
    alignas(Struct) uint8_t bytes[sizeof(Struct) + 64];
    explicit Sized(size_t size) {
        memset(bytes, 0x5a, sizeof bytes);
        memcpy(bytes, &size, sizeof size);
    }
    Struct *get() { return reinterpret_cast<Struct *>(bytes); }
    // Nothing beyond what both sides know was written, and struct_size is still the caller's.
    bool intact(size_t size) const {
        size_t kept;
        memcpy(&kept, bytes, sizeof kept);
        for (size_t i = size < sizeof(Struct) ? size : sizeof(Struct); i < sizeof bytes; ++i)
            if (bytes[i] != 0x5a) return false;
        return kept == size;
    }
};

template <class Struct, class Call> void both_ways(Call call) {
    for (const size_t size :
         {sizeof(size_t), sizeof(Struct) / 2 / 8 * 8, sizeof(Struct), sizeof(Struct) + 32}) {
        Sized<Struct> result(size);
        CHECK(call(result.get()) == LW_OK);
        CHECK(result.intact(size));
    }
    Sized<Struct> unset(0);
    CHECK(call(unset.get()) == LW_INVALID_ARGUMENT);
    CHECK(last().find("struct_size is not set") != std::string::npos);
}

} // namespace

TEST_CASE("errors: a forgotten format is refused and named, in all options with samples") {
    const Model model(spotter_model()), family(blocks_model({{4, 1, 8}, {8}}));
    lw_stream *stream = nullptr;
    lw_stream_options stream_options = LW_STREAM_OPTIONS_INIT;
    CHECK(lw_stream_create(model, &stream_options, &stream) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_stream_options.format is not set: LW_S16 or LW_F32");
    CHECK(lw_stream_create(model, nullptr, &stream) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_stream_options.format is not set: LW_S16 or LW_F32");
    lw_runner *runner = nullptr;
    lw_runner_options runner_options = LW_RUNNER_OPTIONS_INIT;
    const Model whole(audio_model());
    CHECK(lw_runner_create(whole, &runner_options, &runner) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_runner_options.format is not set: LW_S16 or LW_F32");
    lw_spotter *spotter = nullptr;
    lw_spotter_options spotter_options = LW_SPOTTER_OPTIONS_INIT;
    CHECK(lw_spotter_create(model, &spotter_options, &spotter) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_spotter_options.format is not set: LW_S16 or LW_F32");
    lw_resampler *resampler = nullptr;
    lw_resampler_options resampler_options = LW_RESAMPLER_OPTIONS_INIT;
    resampler_options.rate_in = 48000;
    resampler_options.rate_out = 16000;
    CHECK(lw_resampler_create(&resampler_options, &resampler) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_resampler_options.format is not set: LW_S16 or LW_F32");
    stream_options.format = static_cast<lw_sample_format>(7);
    CHECK(lw_stream_create(model, &stream_options, &stream) == LW_INVALID_ARGUMENT);
    CHECK(last() == "lw_stream_options.format is 7: expected LW_F32, LW_S16 or LW_I32");
}

TEST_CASE("errors: token ids have one format, so that is the default") {
    const Model model(bigram_model(alphabet()));
    lw_stream *stream = nullptr;
    REQUIRE(lw_stream_create(model, nullptr, &stream) == LW_OK);
    lw_stream_destroy(stream);
    const lw_stream_options options = LW_STREAM_OPTIONS_INIT;
    REQUIRE(lw_stream_create(model, &options, &stream) == LW_OK);
    const int32_t id = 3;
    CHECK(lw_stream_push(stream, &id, 1, nullptr) == LW_OK);
    lw_stream_destroy(stream);
}

TEST_CASE("errors: no enumerator of what a model is is 0, so a field that was not written is seen") {
    const Model audio(audio_model()), tokens(bigram_model(alphabet()));
    lw_input_info input = LW_INPUT_INFO_INIT;
    REQUIRE(lw_model_input(audio, 0, &input) == LW_OK);
    CHECK(input.kind == LW_INPUT_AUDIO);
    CHECK(input.kind != 0);
    REQUIRE(lw_model_input(tokens, 0, &input) == LW_OK);
    CHECK(input.kind == LW_INPUT_TOKENS);
    for (const int value :
         {int{LW_F32}, int{LW_S16}, int{LW_I32}, int{LW_INPUT_AUDIO}, int{LW_INPUT_FEATURES},
          int{LW_INPUT_TOKENS}, int{LW_STATE_HISTORY}, int{LW_STATE_CARRY}, int{LW_STATE_SPECTRA},
          int{LW_STATE_ELEM_F32}, int{LW_STATE_ELEM_I32}, int{LW_STATE_ELEM_F64}})
        CHECK(value != 0);
}

TEST_CASE("errors: LW_AGAIN and LW_END leave no stale text") {
    const Model model(spotter_model()), text(bigram_model(alphabet()));
    const auto fail_before = [&] {
        CHECK(lw_model_verify(nullptr, nullptr) == LW_INVALID_ARGUMENT);
        CHECK(last() == "model is NULL");
    };
    Stream stream(model);
    lw_stream_row row = LW_STREAM_ROW_INIT;
    fail_before();
    CHECK(lw_stream_pull(stream, &row) == LW_AGAIN);
    CHECK(last() == "");
    float room[1000];
    lw_stream_rows rows = LW_STREAM_ROWS_INIT;
    rows.data = room;
    rows.capacity = 1000;
    fail_before();
    CHECK(lw_stream_pull_rows(stream, &rows) == LW_AGAIN);
    CHECK(last() == "");
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    while (lw_stream_pull(stream, &row) == LW_OK) {
    }
    fail_before();
    CHECK(lw_stream_pull(stream, &row) == LW_END);
    CHECK(last() == "");
    lw_spotter *spotter = nullptr;
    REQUIRE(lw_spotter_create(model, &f32_spotter, &spotter) == LW_OK);
    lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
    fail_before();
    CHECK(lw_spotter_pull(spotter, &event) == LW_AGAIN);
    CHECK(last() == "");
    REQUIRE(lw_spotter_finish(spotter) == LW_OK);
    fail_before();
    CHECK(lw_spotter_pull(spotter, &event) == LW_END);
    CHECK(last() == "");
    lw_spotter_destroy(spotter);
    const int32_t stop[] = {'c'};
    const lw_stop_sequence stops[] = {{stop, 1}};
    lw_generator_options options = LW_GENERATOR_OPTIONS_INIT;
    options.stops = stops;
    options.n_stops = 1;
    Stream ids(text, LW_I32);
    lw_generator *generator = nullptr;
    REQUIRE(lw_generator_create(ids, &options, &generator) == LW_OK);
    const int32_t prompt[] = {'b'};
    REQUIRE(lw_generator_prompt(generator, prompt, 1) == LW_OK);
    lw_generator_token token = LW_GENERATOR_TOKEN_INIT;
    REQUIRE(lw_generator_next(generator, &token) == LW_OK);
    fail_before();
    CHECK(lw_generator_next(generator, &token) == LW_END);
    CHECK(last() == "");
    lw_generator_destroy(generator);
}

TEST_CASE("errors: a library on top keeps its detail in the same place") {
    lw_set_last_error("of another library");
    CHECK(last() == "of another library");
    const std::string longer(1000, 'x');
    lw_set_last_error(longer.c_str());
    CHECK(last() == std::string(511, 'x'));
    lw_set_last_error(nullptr);
    CHECK(last() == "");
}

TEST_CASE("errors: the version of the library is that of the header") {
    CHECK(lw_version_number() == LW_VERSION_NUMBER);
    CHECK(LW_VERSION_NUMBER == LW_VERSION_MAJOR * 1000000 + LW_VERSION_MINOR * 1000 + LW_VERSION_PATCH);
    static_assert(LW_VERSION_AT_LEAST(0, 2, 0) && !LW_VERSION_AT_LEAST(0, 3, 0) &&
                  !LW_VERSION_AT_LEAST(1, 0, 0));
    CHECK(std::string(lw_version()) == std::to_string(LW_VERSION_MAJOR) + "." +
                                           std::to_string(LW_VERSION_MINOR) + "." +
                                           std::to_string(LW_VERSION_PATCH));
}

TEST_CASE("errors: callers with smaller and larger structs get what both sides know") {
    const Model model(spotter_model()), family(blocks_model({{4, 1, 8}, {8}}));
    both_ways<lw_model_info>([&](lw_model_info *info) { return lw_model_get_info(model, info); });
    both_ways<lw_input_info>([&](lw_input_info *info) { return lw_model_input(model, 0, info); });
    both_ways<lw_output_info>([&](lw_output_info *info) { return lw_model_stream_output(model, 0, info); });
    both_ways<lw_stream_entry_info>(
        [&](lw_stream_entry_info *info) { return lw_model_stream_entry(family, 2, info); });
    both_ways<lw_state_field>([&](lw_state_field *field) { return lw_model_state_field(family, 0, field); });
    Stream stream(model);
    both_ways<lw_stream_stats>([&](lw_stream_stats *stats) { return lw_stream_get_stats(stream, stats); });
    // Options of an older program: what it does not know takes its default. Of a newer one that sets
    // nothing new: all as it is.
    for (const size_t size : {offsetof(lw_stream_options, queue), sizeof(lw_stream_options) + 32}) {
        struct {
            lw_stream_options known = f32_stream;
            uint8_t more[64] = {};
        } options;
        options.known.struct_size = size;
        options.more[32] = 0x5a; // behind the struct
        if (size < sizeof(lw_stream_options)) options.known.queue = options.known.block = 0x5a5a5a5a;
        lw_stream *made = nullptr;
        REQUIRE(lw_stream_create(model, &options.known, &made) == LW_OK);
        lw_stream_destroy(made);
    }
}

namespace {

// Options of a program with a newer header: 8 bytes more, of which the last one is set.
template <class Options, class Call> void unknown_field(const char *name, const Options &known, Call call) {
    struct {
        Options known;
        uint8_t more[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    } newer;
    newer.known = known;
    newer.known.struct_size = sizeof(Options) + sizeof newer.more;
    INFO(name);
    CHECK(call(&newer.known) == LW_INVALID_ARGUMENT);
    CHECK(last().find(name) != std::string::npos);
    CHECK(last().find("a field that this library does not know") != std::string::npos);
    newer.known.struct_size = size_t{1} << 40; // bytes that nobody wrote are not read
    CHECK(call(&newer.known) == LW_INVALID_ARGUMENT);
    newer.known.struct_size = sizeof(Options) + sizeof newer.more;
    newer.more[7] = 0;
    CHECK(call(&newer.known) == LW_OK);
}

} // namespace

TEST_CASE("errors: a field of a newer header that is set is refused, in all options") {
    const Model model(spotter_model());
    unknown_field("lw_stream_options", f32_stream, [&](const lw_stream_options *options) {
        lw_stream *stream = nullptr;
        const lw_status status = lw_stream_create(model, options, &stream);
        lw_stream_destroy(stream);
        return status;
    });
    unknown_field("lw_spotter_options", f32_spotter, [&](const lw_spotter_options *options) {
        lw_spotter *spotter = nullptr;
        const lw_status status = lw_spotter_create(model, options, &spotter);
        lw_spotter_destroy(spotter);
        return status;
    });
    const Model offline(audio_model());
    lw_runner_options runs = LW_RUNNER_OPTIONS_INIT;
    runs.format = LW_F32;
    unknown_field("lw_runner_options", runs, [&](const lw_runner_options *options) {
        lw_runner *runner = nullptr;
        const lw_status status = lw_runner_create(offline, options, &runner);
        lw_runner_destroy(runner);
        return status;
    });
    lw_resampler_options rates = LW_RESAMPLER_OPTIONS_INIT;
    rates.format = LW_F32;
    rates.rate_in = 48000;
    rates.rate_out = 16000;
    unknown_field("lw_resampler_options", rates, [&](const lw_resampler_options *options) {
        lw_resampler *resampler = nullptr;
        const lw_status status = lw_resampler_create(options, &resampler);
        lw_resampler_destroy(resampler);
        return status;
    });
    const std::vector<uint8_t> bytes = audio_model().bytes();
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1;
    unknown_field("lw_open_options", open, [&](const lw_open_options *options) {
        lw_model *opened = nullptr;
        const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), options, &opened);
        lw_model_close(opened);
        return status;
    });
}

} // namespace errors_test
