// Audio streams: which output belongs to which input. The models give what they hear, late by
// numbers that are known (tiny_filters.h), so the input says what must come out.
#include "tests/support/filter_session.h"
#include "tests/support/tiny_filters.h"
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace audio_stream_test {

using namespace longwave::test;

namespace {

const Late shapes[] = {
    {16000, 1},          {16000, 8},           {16000, 8, 8},           {16000, 8, 4, 6},
    {16000, 8, 2, 0, 6}, {16000, 8, 1, 3, 20}, {16000, 32, 16, 17, 16}, {16000, 441, 441, 100}};

std::vector<int16_t> integers(size_t n) {
    std::mt19937 random(5);
    std::vector<int16_t> x(n);
    for (int16_t &v : x) v = static_cast<int16_t>(random());
    return x;
}

lw_audio_stream_options live(lw_audio_stream_options options = f32_filter) {
    options.live = 1;
    return options;
}

template <class T> std::vector<T> later(const std::vector<T> &x, size_t latency) {
    std::vector<T> y(x.size());
    for (size_t i = latency; i < x.size(); ++i) y[i] = x[i - latency];
    return y;
}

// Pushes and pulls of any sizes, now and then of none.
std::vector<float> cut_anyhow(lw_audio_stream *stream, const std::vector<float> &x, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> heard, piece(5000);
    const auto size = [&] {
        return std::uniform_int_distribution<size_t>(0, size_t{1} << random() % 13)(random);
    };
    lw_status status = LW_OK;
    for (size_t done = 0; status != LW_END;) {
        size_t taken = 0, n = 0;
        if (done < x.size() && random() % 3) {
            REQUIRE(lw_audio_stream_push(stream, x.data() + done, std::min(size(), x.size() - done),
                                         &taken) == LW_OK);
            done += taken;
            if (done == x.size()) REQUIRE(lw_audio_stream_finish(stream) == LW_OK);
        }
        status = lw_audio_stream_pull(stream, piece.data(), std::min(size(), piece.size()), &n);
        REQUIRE((status == LW_OK || status == LW_AGAIN || status == LW_END));
        heard.insert(heard.end(), piece.begin(), piece.begin() + static_cast<long>(n));
    }
    return heard;
}

} // namespace

TEST_CASE("audio stream: what comes out has the time and the number of what went in") {
    const std::vector<float> x = noise(3001);
    for (const Late &shape : shapes) {
        CAPTURE(shape.block);
        CAPTURE(shape.width);
        CAPTURE(shape.lag);
        CAPTURE(shape.delay);
        const Model model(late_model(shape));
        for (const size_t n : {0, 1, 2, 7, 8, 9, 100, 3001}) {
            const std::vector<float> piece(x.begin(), x.begin() + static_cast<long>(n));
            const AudioStream stream = audio_stream(model);
            CHECK(filtered(stream.get(), piece) == piece);
            const lw_audio_stream_info info = info_of(stream.get());
            CHECK(info.taken == n);
            CHECK(info.given == n);
            CHECK(info.rate_in == 16000);
            CHECK(info.rate_out == 16000);
            CHECK(info.latency == lw_audio_stream_latency(stream.get()));
            CHECK(lw_audio_stream_push(stream.get(), x.data(), 1, nullptr) == LW_WRONG_STATE);
            CHECK(lw_audio_stream_finish(stream.get()) == LW_WRONG_STATE);
        }
    }
}

TEST_CASE("audio stream: samples do not depend on how the audio is split") {
    const std::vector<float> x = noise(10000); // more than one cut may be
    const std::vector<int16_t> integer = integers(5000);
    for (const Late &shape : shapes) {
        const Model model(late_model(shape));
        for (const uint32_t rate : {0u, 48000u, 44100u, 8000u}) {
            CAPTURE(shape.block);
            CAPTURE(rate);
            lw_audio_stream_options options = f32_filter;
            options.rate_in = options.rate_out = rate;
            const std::vector<float> expected = filtered(audio_stream(model, options).get(), x);
            for (uint32_t seed = 1; seed <= 4; ++seed) {
                options.queue = seed % 2 ? 0 : 1;
                CHECK(cut_anyhow(audio_stream(model, options).get(), x, seed) == expected);
            }
            options.format = LW_S16;
            const std::vector<int16_t> once = filtered(audio_stream(model, options).get(), integer);
            for (const size_t cut : {1, 7, 441})
                CHECK(filtered(audio_stream(model, options).get(), integer, cut, 5) == once);
            if (rate == 0) CHECK(once == integer);
        }
    }
}

TEST_CASE("audio stream: live, n samples bring n, late by the latency, for blocks of any sizes") {
    const std::vector<float> x = noise(20000);
    std::vector<float> impulse(20000);
    impulse[5000] = 1;
    for (const Late &shape : shapes) {
        const Model model(late_model(shape));
        CAPTURE(shape.block);
        CAPTURE(shape.width);
        CAPTURE(shape.lag);
        CAPTURE(shape.delay);
        for (const size_t block : {1, 7, 64, 441, 4096}) {
            CAPTURE(block);
            const AudioStream stream = audio_stream(model, live()), same = audio_stream(model, live());
            const uint32_t latency = lw_audio_stream_latency(stream.get());
            std::vector<float> y = x, heard; // in place
            for (size_t at = 0; at < x.size(); at += block) {
                const size_t n = std::min(block, x.size() - at);
                REQUIRE(lw_audio_stream_process(stream.get(), y.data() + at, y.data() + at, n) == LW_OK);
                for (size_t done = 0, taken = 0; done < n; done += taken) { // less than n: the queue is full
                    const size_t before = heard.size();
                    REQUIRE(lw_audio_stream_push(same.get(), x.data() + at + done, n - done, &taken) ==
                            LW_OK);
                    REQUIRE(pull(same.get(), heard) == LW_AGAIN);
                    REQUIRE(heard.size() - before == taken);
                }
            }
            CHECK(y == later(x, latency));
            CHECK(heard == y);
            // The end gives what is still to come for the time that was pushed, and no more.
            REQUIRE(lw_audio_stream_finish(stream.get()) == LW_OK);
            CHECK(pull(stream.get(), heard) == LW_END);
            CHECK(heard.size() == x.size());
            const AudioStream third = audio_stream(model, live());
            std::vector<float> z(impulse.size());
            for (size_t at = 0; at < x.size(); at += block)
                REQUIRE(lw_audio_stream_process(third.get(), impulse.data() + at, z.data() + at,
                                                std::min(block, x.size() - at)) == LW_OK);
            CHECK(z == later(impulse, latency));
        }
    }
}

TEST_CASE("audio stream: without `live` no output waits for longer than the latency, and one waits as long") {
    const std::vector<float> x = noise(2000);
    for (const Late &shape : shapes) {
        const Model model(late_model(shape));
        const AudioStream stream = audio_stream(model);
        const size_t latency = lw_audio_stream_latency(stream.get());
        std::vector<float> heard;
        size_t longest = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            REQUIRE(lw_audio_stream_push(stream.get(), &x[i], 1, nullptr) == LW_OK);
            pull(stream.get(), heard);
            longest = std::max(longest, i + 1 - heard.size());
        }
        CHECK(longest == latency);
    }
}

TEST_CASE("audio stream: an output of another rate") {
    const std::vector<float> x = noise(999);
    const Model doubled(doubled_model()), halved(halved_model());
    const AudioStream twice = audio_stream(doubled), half = audio_stream(halved);
    const std::vector<float> up = filtered(twice.get(), x, 100), down = filtered(half.get(), x, 7);
    CHECK(info_of(twice.get()).rate_out == 32000);
    CHECK(info_of(half.get()).rate_out == 8000);
    REQUIRE(up.size() == 2 * x.size());
    REQUIRE(down.size() == (x.size() + 1) / 2);
    for (size_t i = 0; i < up.size(); ++i) REQUIRE(up[i] == x[i / 2]);
    for (size_t i = 0; i < down.size(); ++i) REQUIRE(down[i] == x[2 * i]);
    CHECK(lw_audio_stream_process(audio_stream(doubled, live()).get(), x.data(), std::vector<float>(x).data(),
                                  1) == LW_WRONG_STATE);
    // Live: for every input its share of outputs, no more and no less.
    for (const lw_model *model :
         {static_cast<const lw_model *>(doubled), static_cast<const lw_model *>(halved)}) {
        const AudioStream stream = audio_stream(model, live());
        const lw_audio_stream_info info = info_of(stream.get());
        std::vector<float> heard;
        for (size_t i = 0; i < x.size(); ++i) {
            REQUIRE(lw_audio_stream_push(stream.get(), &x[i], 1, nullptr) == LW_OK);
            pull(stream.get(), heard);
            REQUIRE(heard.size() == (i + 1) * info.rate_out / info.rate_in);
        }
        const std::vector<float> &plain = info.rate_out > 16000 ? up : down;
        for (size_t i = info.latency; i < heard.size(); ++i) REQUIRE(heard[i] == plain[i - info.latency]);
    }
}

TEST_CASE("audio stream: samples are numbers of their format, rounded and clipped") {
    const Model model(late_model({16000, 1}));
    lw_audio_stream_options options = f32_filter;
    options.format = LW_S16;
    const std::vector<int16_t> all = {-32768, -32767, -1, 0, 1, 2, 32766, 32767};
    CHECK(filtered(audio_stream(model, options).get(), all) == all);
    // The sum of two samples of full scale is beyond it.
    const Model sum(summed_model(1));
    CHECK(filtered(audio_stream(sum, options).get(),
                   std::vector<int16_t>{32767, 32767, -32768, -32768, -32768}) ==
          std::vector<int16_t>{32767, 32767, 32766, -2, -32768});
}

TEST_CASE("audio stream: inputs that are not finite count as zeros") {
    const Model model(late_model());
    const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
    for (const uint32_t rate : {0u, 48000u}) {
        lw_audio_stream_options options = f32_filter;
        options.rate_in = options.rate_out = rate;
        const std::vector<float> good = noise(1000);
        std::vector<float> bad = good, zeros = good;
        for (const size_t i : {0, 1, 500, 999}) bad[i] = i % 2 ? nan : -infinite, zeros[i] = 0;
        bad[700] = 1e30f, zeros[700] = 0;
        const AudioStream stream = audio_stream(model, options);
        CHECK(filtered(stream.get(), bad, 64) == filtered(audio_stream(model, options).get(), zeros));
        CHECK(info_of(stream.get()).non_finite == 5);
        CHECK(info_of(stream.get()).resets == 0);
    }
}

TEST_CASE("audio stream: rows that are not finite become silence, the stream is reset, and time goes on") {
    for (const uint32_t block : {1u, 8u, 64u}) {
        const Model model(summed_model(block));
        std::vector<float> x(1000);
        x[10] = 1;
        x[333] = x[334] = 3e38f; // the sum is beyond the largest float, and would stay there
        x[600] = 2;
        std::vector<float> expected(x.size());
        const size_t end = (334 / block + 1) * block; // the reset comes with the end of the block
        for (size_t i = 10; i < x.size(); ++i)
            expected[i] = i < 333 ? 1 : i == 333 ? 3e38f : i < 600 ? 0.0f : 2;
        // Rows of one tick each: those before the first bad one are heard.
        REQUIRE(end <= 600);
        for (const size_t cut : {1, 7, 64, 441, 4096}) {
            CAPTURE(block);
            CAPTURE(cut);
            const AudioStream stream = audio_stream(model);
            CHECK(filtered(stream.get(), x, cut) == expected);
            CHECK(info_of(stream.get()).resets == 1);
            CHECK(info_of(stream.get()).taken == x.size());
            const AudioStream host = audio_stream(model, live());
            std::vector<float> y(x.size());
            for (size_t at = 0; at < x.size(); at += cut)
                REQUIRE(lw_audio_stream_process(host.get(), x.data() + at, y.data() + at,
                                                std::min(cut, x.size() - at)) == LW_OK);
            CHECK(y == later(expected, lw_audio_stream_latency(host.get())));
        }
    }
}

TEST_CASE("audio stream: reset makes it as new") {
    const std::vector<float> x = noise(3000);
    for (const uint32_t rate : {0u, 44100u}) {
        const Model model(late_model({16000, 8, 4, 6, 4}));
        lw_audio_stream_options options = live();
        options.rate_in = options.rate_out = rate;
        const AudioStream stream = audio_stream(model, options);
        std::vector<float> first, half;
        push(stream.get(), x, first, 100);
        REQUIRE(lw_audio_stream_reset(stream.get()) == LW_OK);
        CHECK(info_of(stream.get()).taken == 0);
        CHECK(info_of(stream.get()).given == 0);
        push(stream.get(), std::vector<float>(x.begin(), x.begin() + 777), half, 100);
        REQUIRE(lw_audio_stream_finish(stream.get()) == LW_OK);
        REQUIRE(lw_audio_stream_reset(stream.get()) == LW_OK); // with outputs that were not pulled
        std::vector<float> again;
        push(stream.get(), x, again, 64);
        CHECK(again == first);
    }
}

TEST_CASE("audio stream: outputs that nobody pulls stop the input, and none is lost") {
    const std::vector<float> x = noise(5000);
    for (const uint32_t queue : {1u, 100u, 0u}) {
        const Model model(late_model({16000, 32, 16, 17, 16}));
        lw_audio_stream_options options = f32_filter;
        options.queue = queue;
        const AudioStream stream = audio_stream(model, options);
        std::vector<float> heard;
        size_t done = 0, taken = 0;
        REQUIRE(lw_audio_stream_push(stream.get(), x.data(), x.size(), &taken) == LW_OK);
        REQUIRE(taken < x.size());
        done = taken;
        CHECK(done >= (queue ? queue : 1024));
        REQUIRE(lw_audio_stream_push(stream.get(), x.data() + done, x.size() - done, &taken) == LW_OK);
        CHECK(taken == 0);
        while (done < x.size()) {
            REQUIRE(pull(stream.get(), heard, 3) == LW_AGAIN);
            REQUIRE(lw_audio_stream_push(stream.get(), x.data() + done, x.size() - done, &taken) == LW_OK);
            REQUIRE(taken > 0);
            done += taken;
        }
        REQUIRE(lw_audio_stream_finish(stream.get()) == LW_OK);
        REQUIRE(pull(stream.get(), heard, 3) == LW_END);
        CHECK(heard == x);
    }
}

} // namespace audio_stream_test
