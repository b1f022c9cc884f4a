// The resampler against numbers in double precision: tones, of which every output is known, and
// libsoxr. What is promised: 0.001 dB up to 0.9 of the lower Nyquist frequency, -100 dB beyond it.
#include "longwave/resampler.h"
#include "tests/support/meter.h"
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <soxr.h>
#include <string>
#include <vector>

namespace resampler_test {

using namespace longwave::test;

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double ripple = 1.2e-4; // 0.001 dB
constexpr double floor = 1e-5;    // -100 dB

using Resampler = std::unique_ptr<lw_resampler, void (*)(lw_resampler *)>;

lw_resampler_options of(uint32_t in, uint32_t out, lw_sample_format format = LW_F32, uint32_t channels = 1) {
    lw_resampler_options options = LW_RESAMPLER_OPTIONS_INIT;
    options.format = format;
    options.channels = channels;
    options.rate_in = in;
    options.rate_out = out;
    return options;
}

Resampler made(const lw_resampler_options &options) {
    lw_resampler *resampler = nullptr;
    const lw_status status = lw_resampler_create(&options, &resampler);
    INFO(lw_last_error());
    REQUIRE(status == LW_OK);
    return {resampler, lw_resampler_destroy};
}

// All outputs of `frames` frames, pushed in pieces of the given sizes, over and over.
template <class Sample> std::vector<float> all(const lw_resampler_options &options,
                                               const std::vector<Sample> &x,
                                               const std::vector<size_t> &cuts = {1000}) {
    const Resampler resampler = made(options);
    const size_t channels = options.channels ? options.channels : 1, frames = x.size() / channels;
    std::vector<float> y, room;
    const auto keep = [&](lw_status status, size_t n) {
        REQUIRE(status == LW_OK);
        y.insert(y.end(), room.begin(), room.begin() + static_cast<long>(n));
    };
    size_t n = 0;
    for (size_t at = 0, i = 0; at < frames; ++i) {
        const size_t now = std::min(cuts[i % cuts.size()], frames - at);
        room.resize(now * options.rate_out / options.rate_in + 1);
        const lw_status status =
            lw_resampler_push(resampler.get(), x.data() + at * channels, now, room.data(), room.size(), &n);
        keep(status, n);
        at += now;
    }
    lw_resampler_info info = LW_RESAMPLER_INFO_INIT;
    REQUIRE(lw_resampler_get_info(resampler.get(), &info) == LW_OK);
    room.resize(uint64_t{info.delay} * options.rate_out / options.rate_in + 1);
    const lw_status status = lw_resampler_finish(resampler.get(), room.data(), room.size(), &n);
    keep(status, n);
    REQUIRE(lw_resampler_get_info(resampler.get(), &info) == LW_OK);
    CHECK(info.taken == frames);
    CHECK(info.given == y.size());
    return y;
}

std::vector<float> tone(double frequency, double rate, size_t n, double phase = 0.3) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i)
        x[i] = static_cast<float>(0.5 * std::sin(2 * pi * frequency * static_cast<double>(i) / rate + phase));
    return x;
}

std::vector<float> white(size_t n) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal(0, 0.2f);
    std::vector<float> x(n);
    for (float &value : x) value = normal(generator);
    return x;
}

// Amplitude of a frequency in y, under a Hann window.
double at_frequency(const std::vector<float> &y, double frequency, double rate) {
    double re = 0, im = 0, weights = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        const double w =
            0.5 - 0.5 * std::cos(2 * pi * (static_cast<double>(i) + 0.5) / static_cast<double>(y.size()));
        const double angle = 2 * pi * frequency * static_cast<double>(i) / rate;
        re += w * static_cast<double>(y[i]) * std::cos(angle);
        im += w * static_cast<double>(y[i]) * std::sin(angle);
        weights += w;
    }
    return 2 * std::sqrt(re * re + im * im) / weights;
}

constexpr std::pair<uint32_t, uint32_t> pairs[] = {
    {8000, 16000},  {44100, 16000}, {48000, 16000}, {96000, 16000}, {22050, 16000}, {11025, 16000},
    {32000, 16000}, {16000, 8000},  {16000, 48000}, {48000, 44100}, {192000, 8000}};

} // namespace

TEST_CASE("resampler: a sweep over the pass-band keeps amplitude and time, and what lies beyond is gone") {
    for (const auto &[in, out] : pairs) {
        const double nyquist = std::min(in, out) / 2.0;
        const size_t frames = in / 4;
        lw_resampler_info info = LW_RESAMPLER_INFO_INIT;
        REQUIRE(lw_resampler_get_info(made(of(in, out)).get(), &info) == LW_OK);
        const size_t edge = uint64_t{info.delay} * out / in + 2; // outputs that read beyond the ends
        for (const double part : {0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 1.0, 1.02, 1.1, 1.5, 1.9}) {
            const double frequency = part * nyquist;
            if (frequency > in / 2.0) continue;
            INFO(in, " to ", out, ", ", frequency, " Hz");
            const std::vector<float> y = all(of(in, out), tone(frequency, in, frames));
            REQUIRE(y.size() == (uint64_t{frames} * out + in - 1) / in);
            double worst = 0;
            for (size_t i = edge; i + edge < y.size(); ++i) {
                const double right =
                    part <= 0.9 ? 0.5 * std::sin(2 * pi * frequency * static_cast<double>(i) / out + 0.3) : 0;
                worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - right));
            }
            CHECK(worst < 0.5 * (part <= 0.9 ? ripple : floor) + 1e-6);
        }
        // Images of a tone of a lower rate.
        if (out > in) {
            const std::vector<float> y = all(of(in, out), tone(0.4 * in, in, frames));
            CHECK(at_frequency(y, 0.6 * in, out) < 0.5 * floor);
        }
    }
}

TEST_CASE("resampler: white noise has the spectrum that libsoxr gives it") {
    for (const auto &[in, out] : pairs) {
        INFO(in, " to ", out);
        const std::vector<float> x = white(in / 2);
        const std::vector<float> y = all(of(in, out), x);
        std::vector<float> theirs(y.size() + 64);
        size_t read = 0, n = 0;
        const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
        const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_VHQ, 0);
        REQUIRE(soxr_oneshot(in, out, 1, x.data(), x.size(), &read, theirs.data(), theirs.size(), &n, &io,
                             &quality, nullptr) == nullptr);
        REQUIRE(n + 2 >= y.size());
        theirs.resize(y.size());
        std::vector<float> difference(y.size());
        for (size_t i = 0; i < y.size(); ++i) difference[i] = y[i] - theirs[i];
        const double nyquist = std::min(in, out) / 2.0;
        double level = 0, worst = 0;
        for (int i = 1; i <= 60; ++i) {
            const double frequency = 0.9 * nyquist * i / 60;
            level += at_frequency(theirs, frequency, out) / 60;
            worst = std::max(worst, at_frequency(difference, frequency, out));
        }
        CHECK(worst < 2e-3 * level); // at the ends the two have other zeros to read
    }
}

TEST_CASE("resampler: the outputs are the same bits however the input is split") {
    for (const auto &[in, out] : pairs) {
        INFO(in, " to ", out);
        const std::vector<float> x = white(6001);
        const std::vector<float> once = all(of(in, out), x, {6001});
        CHECK(all(of(in, out), x, {1}) == once);
        CHECK(all(of(in, out), x, {480, 0, 441, 1, 255, 256, 257}) == once);
        CHECK(all(of(in, out), x, {0, 3000}) == once);
    }
}

TEST_CASE("resampler: of several channels the mean is heard, of 16-bit samples their value") {
    for (const uint32_t channels : {1u, 2u, 8u, 256u}) {
        std::mt19937 random(channels);
        std::vector<int16_t> shorts(size_t{channels} * 3000);
        std::vector<float> floats, mean;
        for (int16_t &sample : shorts) {
            sample = static_cast<int16_t>(random());
            floats.push_back(static_cast<float>(sample) / 32768);
        }
        for (size_t i = 0; i < 3000; ++i) {
            double sum = 0;
            for (uint32_t c = 0; c < channels; ++c) sum += shorts[i * channels + c];
            mean.push_back(static_cast<float>(sum / channels / 32768));
        }
        const std::vector<float> right = all(of(48000, 16000), mean);
        for (const std::vector<float> &y : {all(of(48000, 16000, LW_S16, channels), shorts),
                                            all(of(48000, 16000, LW_F32, channels), floats)}) {
            REQUIRE(y.size() == right.size());
            for (size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(y[i] - right[i]) < 1e-6);
        }
    }
    // Equal rates: the mean itself, at once.
    const std::vector<int16_t> stereo = {100, 300, -32768, -32768, 32767, 1};
    CHECK(all(of(16000, 16000, LW_S16, 2), stereo) ==
          std::vector<float>{200 / 32768.0f, -1, 16384 / 32768.0f});
}

TEST_CASE("resampler: values that are not finite count as 0 and are counted") {
    std::vector<float> x = white(2000), zeroed = x;
    const float bad[] = {NAN, INFINITY, -INFINITY, 1.1e6f};
    for (size_t i = 0; i < 4; ++i) {
        x[500 + 100 * i] = bad[i];
        zeroed[500 + 100 * i] = 0;
    }
    CHECK(all(of(48000, 16000), x) == all(of(48000, 16000), zeroed));
    const Resampler resampler = made(of(16000, 16000));
    float y[8];
    size_t n = 0;
    REQUIRE(lw_resampler_push(resampler.get(), bad, 4, y, 8, &n) == LW_OK);
    lw_resampler_info info = LW_RESAMPLER_INFO_INIT;
    REQUIRE(lw_resampler_get_info(resampler.get(), &info) == LW_OK);
    CHECK(info.non_finite == 4);
    CHECK(info.delay == 0);
}

TEST_CASE("resampler: too small a room takes nothing, and the end comes once") {
    const Resampler resampler = made(of(48000, 16000));
    const std::vector<float> x = white(4800);
    const std::vector<float> right = all(of(48000, 16000), x);
    std::vector<float> y(2000);
    size_t n = 7;
    CHECK(lw_resampler_push(resampler.get(), x.data(), x.size(), y.data(), 10, &n) == LW_TOO_SMALL);
    CHECK(n > 1400);
    const size_t needed = n;
    CHECK(std::string(lw_last_error()) == "the outputs are " + std::to_string(needed) + ", room is for 10");
    REQUIRE(lw_resampler_push(resampler.get(), x.data(), x.size(), y.data(), needed, &n) == LW_OK);
    CHECK(n == needed);
    size_t rest = 0;
    CHECK(lw_resampler_finish(resampler.get(), nullptr, 0, &rest) == LW_TOO_SMALL);
    REQUIRE(lw_resampler_finish(resampler.get(), y.data() + n, y.size() - n, &rest) == LW_OK);
    y.resize(n + rest);
    CHECK(y == right);
    CHECK(lw_resampler_push(resampler.get(), x.data(), 1, y.data(), 1, &n) == LW_WRONG_STATE);
    CHECK(lw_resampler_finish(resampler.get(), y.data(), 1, &n) == LW_WRONG_STATE);
    REQUIRE(lw_resampler_reset(resampler.get()) == LW_OK);
    y.assign(2000, 0);
    REQUIRE(lw_resampler_push(resampler.get(), x.data(), x.size(), y.data(), y.size(), &n) == LW_OK);
    y.resize(n);
    CHECK(y == std::vector<float>(right.begin(), right.begin() + static_cast<long>(n)));
}

TEST_CASE("resampler: options that make no sense are refused, each with its name") {
    lw_resampler *none = nullptr;
    const auto refused = [&](lw_resampler_options options, const char *text,
                             lw_status status = LW_INVALID_ARGUMENT) {
        CHECK(lw_resampler_create(&options, &none) == status);
        CHECK(none == nullptr);
        CHECK(std::string(lw_last_error()).find(text) == 0);
    };
    refused(of(0, 16000), "lw_resampler_options.rate_in is not set");
    refused(of(48000, 0), "lw_resampler_options.rate_out is not set");
    refused(of(999, 16000), "lw_resampler_options.rate_in is 999 Hz; from 1000 to 768000");
    refused(of(48000, 768001), "lw_resampler_options.rate_out is 768001 Hz");
    refused(of(48000, 16000, LW_I32), "lw_resampler_options.format is LW_I32");
    refused(of(48000, 16000, LW_F32, 257), "257 channels; at most 256");
    refused(of(44101, 16000), "from 44101 to 16000 Hz: the common divisor", LW_UNSUPPORTED);
    lw_resampler_options options = of(48000, 16000);
    options.struct_size = 0;
    refused(options, "struct_size of lw_resampler_options is not set");
    CHECK(lw_resampler_create(nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_resampler_create(&options, nullptr) == LW_INVALID_ARGUMENT);
    lw_resampler_destroy(nullptr);
}

TEST_CASE("resampler: it lives in the caller's memory, and otherwise takes one block and gives it back") {
    lw_resampler_options options = of(44100, 16000, LW_S16, 2);
    size_t size = 0, alignment = 0;
    REQUIRE(lw_resampler_size(&options, &size, &alignment) == LW_OK);
    CHECK(alignment == 64);
    std::vector<uint8_t> memory(size + 64);
    uint8_t *at = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    lw_resampler *resampler = nullptr;
    CHECK(lw_resampler_init(&options, at, size - 1, &resampler) == LW_TOO_SMALL);
    CHECK(lw_resampler_init(&options, at + 4, size, &resampler) == LW_INVALID_ARGUMENT);
    REQUIRE(lw_resampler_init(&options, at, size, &resampler) == LW_OK);
    CHECK(static_cast<void *>(resampler) == at);
    lw_resampler_destroy(resampler);
    Meter meter;
    options.allocator = &meter.allocator;
    REQUIRE(lw_resampler_create(&options, &resampler) == LW_OK);
    CHECK(meter.now == size);
    lw_resampler_destroy(resampler);
    CHECK(meter.now == 0);
    const lw_allocator lacking = {nullptr, Meter::release, nullptr};
    options.allocator = &lacking;
    CHECK(lw_resampler_create(&options, &resampler) == LW_INVALID_ARGUMENT);
}

} // namespace resampler_test
