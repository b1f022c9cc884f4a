// What audio streams refuse, what they need, and other sample rates.
#include "tests/support/filter_session.h"
#include "tests/support/meter.h"
#include "tests/support/tiny_filters.h"
#include <cmath>
#include <cstdlib>
#include <longwave/resampler.h>
#include <string>

namespace audio_stream_limits_test {

using namespace longwave::test;

namespace {

std::string last() { return lw_last_error(); }

std::vector<float> tone(double frequency, double rate, size_t n) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i)
        x[i] = static_cast<float>(
            0.5 * std::sin(6.283185307179586 * frequency * static_cast<double>(i) / rate + 0.3));
    return x;
}

struct Memory {
    explicit Memory(size_t bytes) : at(aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
    ~Memory() { free(at); }
    Memory(const Memory &) = delete;
    void *at;
};

} // namespace

TEST_CASE("audio stream: at other rates a tone keeps its amplitude and its time") {
    // resampler.h: 0.001 dB up to 0.9 of the lower Nyquist frequency, -100 dB beyond it; on two sides.
    constexpr double limit = 0.5 * 2 * (1.2e-4 + 1e-5);
    const Model model(late_model({16000, 8, 4, 6, 4}));
    for (const uint32_t in : {48000u, 44100u, 16000u, 8000u})
        for (const uint32_t out : {48000u, 44100u, 16000u, 22050u}) {
            lw_audio_stream_options options = f32_filter;
            options.rate_in = in;
            options.rate_out = out;
            for (const uint32_t is_live : {0u, 1u}) {
                options.live = is_live;
                const AudioStream stream = audio_stream(model, options);
                CAPTURE(in);
                CAPTURE(out);
                const std::vector<float> x = tone(1000, in, in / 4);
                std::vector<float> y;
                for (size_t at = 0, taken = 0; at < x.size(); at += taken) {
                    REQUIRE(lw_audio_stream_push(stream.get(), x.data() + at,
                                                 std::min(size_t{441}, x.size() - at), &taken) == LW_OK);
                    pull(stream.get(), y);
                    if (is_live) REQUIRE(y.size() == (at + taken) * out / in);
                }
                REQUIRE(lw_audio_stream_finish(stream.get()) == LW_OK);
                REQUIRE(pull(stream.get(), y) == LW_END);
                REQUIRE(y.size() == (x.size() * out + in - 1) / in);
                const std::vector<float> exact = tone(1000, out, y.size());
                const size_t late = is_live ? lw_audio_stream_latency(stream.get()) : 0, edge = out / 40;
                double worst = 0;
                for (size_t i = edge + late; i + edge < y.size(); ++i)
                    worst = std::max(worst, std::abs(double(y[i]) - double(exact[i - late])));
                CHECK(worst < limit);
                for (size_t i = 0; is_live && i < late; ++i) REQUIRE(y[i] == 0);
            }
        }
}

TEST_CASE(
    "audio stream: at other rates the latency by impulse is the one that is said, for blocks of any sizes") {
    const Model model(late_model({16000, 32, 16, 17, 16}));
    for (const uint32_t rate : {48000u, 44100u, 16000u, 96000u})
        for (const size_t block : {1, 7, 64, 441, 4096}) {
            lw_audio_stream_options options = f32_filter;
            options.live = 1;
            options.rate_in = options.rate_out = rate;
            const AudioStream stream = audio_stream(model, options);
            const size_t n = 20000, at = 7001, latency = lw_audio_stream_latency(stream.get());
            std::vector<float> x(n);
            x[at] = 1;
            for (size_t done = 0; done < n; done += block)
                REQUIRE(lw_audio_stream_process(stream.get(), x.data() + done, x.data() + done,
                                                std::min(block, n - done)) == LW_OK);
            CAPTURE(rate);
            CAPTURE(block);
            size_t peak = 0;
            for (size_t i = 0; i < n; ++i)
                if (std::abs(x[i]) > std::abs(x[peak])) peak = i;
            CHECK(peak == at + latency);
            // The filters are symmetric, so the delay is a whole number of samples.
            if (rate != 44100)
                for (size_t i = 1; i < 40; ++i)
                    CHECK(x[peak - i] == doctest::Approx(x[peak + i]).epsilon(0).scale(1).epsilon(2e-5));
        }
}

TEST_CASE("audio stream: what it cannot be made from is refused, with the reason") {
    const Model model(late_model()), several(several_filters_model()), speech(speech_model()),
        tokens(token_model()), features(failing_model());
    Draft draft = audio_model();
    draft.plan.entries.erase(draft.plan.entries.begin() + 1);
    draft.plan.state.clear();
    draft.plan.state_bytes = 0;
    const Model run_only(draft);
    lw_audio_stream *none = nullptr;
    size_t size = 0, alignment = 0;
    const auto with = [&](const lw_model *of, auto edit) {
        lw_audio_stream_options options = f32_filter;
        edit(options);
        const lw_status asked = lw_audio_stream_size(of, &options, &size, &alignment);
        const std::string why = last();
        const lw_status status = lw_audio_stream_create(of, &options, &none);
        CHECK(asked == status); // the size is refused for the same reason
        if (status != LW_OK) CHECK(why == last());
        if (status != LW_OK) CHECK(none == nullptr);
        lw_audio_stream_destroy(none);
        return status;
    };
    const auto nothing = [](auto &) {};
    CHECK(lw_audio_stream_create(model, &f32_filter, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_create(model, nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(last().find("set the format") != std::string::npos);
    CHECK(lw_audio_stream_size(model, nullptr, &size, &alignment) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_size(model, &f32_filter, nullptr, &alignment) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_size(model, &f32_filter, &size, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(with(nullptr, nothing) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.struct_size = 0; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.format = LW_I32; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.format = lw_sample_format(0); }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.queue = 1u << 29; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.rate_in = 999; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.rate_out = 768001; }) == LW_INVALID_ARGUMENT);
    CHECK(with(model, [](auto &o) { o.rate_in = 700001; }) == LW_UNSUPPORTED);
    CHECK(with(model, [](auto &o) { o.rate_out = 700001; }) == LW_UNSUPPORTED);
    CHECK(with(model, [](auto &o) { o.block = 100; }) == LW_NOT_FOUND);
    CHECK(with(model, [](auto &o) { o.block = 8; }) == LW_OK);
    CHECK(with(model, [](auto &o) { o.output = "clean"; }) == LW_OK);
    CHECK(with(model, [](auto &o) { o.output = "dirty"; }) == LW_NOT_FOUND);
    CHECK(last() == "the stream has no output dirty");
    CHECK(with(several, nothing) == LW_NOT_FOUND);
    CHECK(last() == "several outputs are audio: set lw_audio_stream_options.output");
    CHECK(with(several, [](auto &o) { o.output = "noise"; }) == LW_OK);
    CHECK(with(several, [](auto &o) { o.output = "level"; }) == LW_NOT_FOUND);
    CHECK(last() == "output level is not of kind audio");
    CHECK(with(speech, nothing) == LW_NOT_FOUND);
    CHECK(last() == "tiny-speech has no output of kind audio");
    CHECK(with(tokens, nothing) == LW_NOT_FOUND);
    CHECK(with(features, nothing) == LW_NOT_FOUND);
    CHECK(last() == "the model does not listen to audio");
    CHECK(with(run_only, nothing) == LW_NO_STREAM);
}

TEST_CASE("audio stream: calls with wrong arguments and in a wrong state") {
    const Model model(late_model({16000, 8, 4, 6}));
    float x[100] = {}, y[100] = {};
    size_t n = 1;
    lw_audio_stream_info info = LW_AUDIO_STREAM_INFO_INIT;
    lw_audio_stream_destroy(nullptr);
    CHECK(lw_audio_stream_push(nullptr, x, 1, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_pull(nullptr, y, 1, &n) == LW_INVALID_ARGUMENT);
    CHECK(n == 0);
    CHECK(lw_audio_stream_process(nullptr, x, y, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_finish(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_reset(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_get_info(nullptr, &info) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_latency(nullptr) == 0);
    const AudioStream plain = audio_stream(model);
    lw_audio_stream *const stream = plain.get();
    CHECK(lw_audio_stream_push(stream, nullptr, 1, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_push(stream, nullptr, 0, &n) == LW_OK);
    CHECK(lw_audio_stream_pull(stream, nullptr, 1, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_pull(stream, y, 1, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_pull(stream, nullptr, 0, &n) == LW_AGAIN);
    CHECK(lw_audio_stream_process(stream, x, y, 1) == LW_WRONG_STATE);
    CHECK(last() == "process needs lw_audio_stream_options.live and equal rates");
    CHECK(lw_audio_stream_get_info(stream, nullptr) == LW_INVALID_ARGUMENT);
    info.struct_size = 0;
    CHECK(lw_audio_stream_get_info(stream, &info) == LW_INVALID_ARGUMENT);
    lw_audio_stream_options options = f32_filter;
    options.live = 1;
    const AudioStream host = audio_stream(model, options);
    CHECK(lw_audio_stream_process(host.get(), nullptr, y, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_process(host.get(), x, nullptr, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_audio_stream_process(host.get(), x, y, 0) == LW_OK);
    REQUIRE(lw_audio_stream_push(host.get(), x, 3, nullptr) == LW_OK);
    y[0] = 7;
    CHECK(lw_audio_stream_process(host.get(), x, y, 1) == LW_WRONG_STATE);
    CHECK(last() == "pushed samples were not pulled yet");
    CHECK(y[0] == 0); // a failure is silence
    REQUIRE(lw_audio_stream_pull(host.get(), y, 100, &n) == LW_OK);
    CHECK(n == 3);
    CHECK(lw_audio_stream_process(host.get(), x, y, 1) == LW_OK);
    REQUIRE(lw_audio_stream_finish(host.get()) == LW_OK);
    CHECK(lw_audio_stream_process(host.get(), x, y, 1) == LW_WRONG_STATE);
    CHECK(last() == "the audio stream is finished");
    options.rate_in = 48000;
    const AudioStream two = audio_stream(model, options);
    CHECK(lw_audio_stream_process(two.get(), x, y, 1) == LW_WRONG_STATE);
}

TEST_CASE("audio stream: a kernel that fails stops it until it is reset") {
    const Model model(failing_filter_model());
    lw_audio_stream_options options = f32_filter;
    options.live = 1;
    const AudioStream stream = audio_stream(model, options);
    std::vector<float> x(24, 0.5f), y(24, 7.0f);
    x[16] = 5000;
    CHECK(lw_audio_stream_process(stream.get(), x.data(), y.data(), 24) == LW_DEVICE);
    for (size_t i = 0; i < 24; ++i)
        CHECK(y[i] == (i >= 7 && i < 16 ? 0.5f : 0.0f)); // those that were ready, then zeros
    size_t n;
    CHECK(lw_audio_stream_push(stream.get(), x.data(), 1, nullptr) == LW_WRONG_STATE);
    CHECK(lw_audio_stream_pull(stream.get(), y.data(), 1, &n) == LW_WRONG_STATE);
    CHECK(lw_audio_stream_process(stream.get(), x.data(), y.data(), 1) == LW_WRONG_STATE);
    CHECK(lw_audio_stream_finish(stream.get()) == LW_WRONG_STATE);
    REQUIRE(lw_audio_stream_reset(stream.get()) == LW_OK);
    CHECK(lw_audio_stream_process(stream.get(), x.data(), y.data(), 16) == LW_OK);
}

TEST_CASE("audio stream: in the caller's memory, as large as is said, and no more is taken") {
    for (const uint32_t rate : {0u, 44100u}) {
        Meter meter;
        const std::vector<uint8_t> bytes = late_model({16000, 8, 4, 6}).bytes();
        lw_open_options open = LW_OPEN_OPTIONS_INIT;
        open.allow_unsigned_code = 1;
        open.allocator = &meter.allocator;
        lw_model *model = nullptr;
        REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK);
        lw_audio_stream_options options = f32_filter;
        options.rate_in = options.rate_out = rate;
        size_t size = 0, alignment = 0;
        REQUIRE(lw_audio_stream_size(model, &options, &size, &alignment) == LW_OK);
        CHECK(alignment == 64);
        const uint64_t before = meter.now;
        lw_audio_stream *made = nullptr, *placed = nullptr;
        REQUIRE(lw_audio_stream_create(model, &options, &made) == LW_OK);
        CHECK(meter.now - before == size);
        lw_audio_stream_destroy(made);
        CHECK(meter.now == before);
        const Memory memory(size + 64);
        uint8_t *const at = static_cast<uint8_t *>(memory.at);
        CHECK(lw_audio_stream_init(model, &options, at, size, nullptr) == LW_INVALID_ARGUMENT);
        CHECK(lw_audio_stream_init(model, &options, nullptr, size, &placed) == LW_INVALID_ARGUMENT);
        CHECK(lw_audio_stream_init(model, &options, at + 4, size, &placed) == LW_INVALID_ARGUMENT);
        CHECK(lw_audio_stream_init(model, &options, at, size - 1, &placed) == LW_TOO_SMALL);
        CHECK(lw_audio_stream_init(model, nullptr, at, size, &placed) == LW_INVALID_ARGUMENT);
        CHECK(placed == nullptr);
        at[size] = 99;
        REQUIRE(lw_audio_stream_init(model, &options, at, size, &placed) == LW_OK);
        CHECK(static_cast<void *>(placed) == at);
        CHECK(meter.now == before);
        const std::vector<float> x = noise(1000);
        const std::vector<float> y = filtered(placed, x, 100);
        if (rate == 0) CHECK(y == x);
        CHECK(at[size] == 99);
        lw_model_close(model); // the audio stream keeps it
        REQUIRE(lw_audio_stream_reset(placed) == LW_OK);
        CHECK(filtered(placed, x, 1) == y);
        lw_audio_stream_destroy(placed);
        CHECK(meter.now == 0);
    }
}

TEST_CASE("audio stream: a stream costs little more than its stream") {
    const Model model(late_model({16000, 8, 4, 6}));
    size_t all = 0, alignment = 0, stream = 0;
    lw_stream_options plain = LW_STREAM_OPTIONS_INIT;
    plain.format = LW_F32;
    plain.queue = 1;
    REQUIRE(lw_stream_size(model, &plain, &stream, &alignment) == LW_OK);
    REQUIRE(lw_audio_stream_size(model, &f32_filter, &all, &alignment) == LW_OK);
    CHECK(all - stream <= 1024 * 4 + 1024); // the queue, and the object
}

} // namespace audio_stream_limits_test
