#include "tests/unit/formats/audio/audio_files.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sndfile.h>

namespace audio_test {

using namespace audio_files;
using namespace std::string_literals;

namespace {

std::string format_chunk(uint16_t format, uint16_t channels, uint32_t rate, uint16_t bits) {
    const uint16_t frame = static_cast<uint16_t>(channels * bits / 8);
    return "fmt " + le(16, 4) + le(format, 2) + le(channels, 2) + le(rate, 4) +
           le(uint64_t{rate} * frame, 4) + le(frame, 2) + le(bits, 2);
}

std::string wav(const std::string &samples, uint32_t size, uint32_t rate = 16000, uint16_t channels = 1,
                uint16_t bits = 16, uint16_t format = 1) {
    return "RIFF" + le(0xffffffff, 4) + "WAVE" + format_chunk(format, channels, rate, bits) + "data" +
           le(size, 4) + samples;
}

const std::string three = le(0x4000, 2) + le(0x8000, 2) + le(1, 2); // 0.5, -1, 1/32768

} // namespace

TEST_CASE("wav: 16-bit samples are divided by 32768") {
    const auto audio = audio::read(write("a.wav", wav(three, 6)), at_16k());
    REQUIRE(audio);
    CHECK(audio->samples == std::vector<float>{0.5f, -1.0f, 1.0f / 32768});
}

TEST_CASE("wav: every width of PCM and float means the same") {
    const float half = 0.5f;
    const double half64 = 0.5;
    std::string f32(4, 0), f64(8, 0);
    std::memcpy(f32.data(), &half, 4);
    std::memcpy(f64.data(), &half64, 8);
    for (const auto &file : {wav(le(0xc0, 1), 1, 16000, 1, 8), wav(le(0x400000, 3), 3, 16000, 1, 24),
                             wav(le(0x40000000, 4), 4, 16000, 1, 32), wav(f32, 4, 16000, 1, 32, 3),
                             wav(f64, 8, 16000, 1, 64, 3)}) {
        const auto audio = audio::read(write("width.wav", file), at_16k());
        REQUIRE(audio);
        CHECK(audio->samples == std::vector<float>{0.5f});
    }
}

TEST_CASE("wav: a pipe with unknown sizes ends where it ends; a known size ends there") {
    for (const uint32_t size : {0u, 0xffffffffu, 0x7fffffffu, 0x7ffff024u}) {
        const Pipe pipe(wav(three, size));
        const auto audio = audio::read(pipe.path, at_16k());
        REQUIRE(audio);
        CHECK(audio->samples.size() == 3);
    }
    const Pipe pipe(wav(three + "LIST" + le(4, 4) + "abcd", 6));
    const auto audio = audio::read(pipe.path, at_16k());
    REQUIRE(audio);
    CHECK(audio->samples.size() == 3);
}

TEST_CASE("wav: chunks before the samples are skipped, odd sizes padded") {
    const std::string file = "RIFF" + le(0, 4) + "WAVE" + "LIST" + le(3, 4) + "abc\0"s.substr(0, 4) +
                             format_chunk(1, 1, 16000, 16) + "data" + le(6, 4) + three;
    const auto audio = audio::read(write("chunks.wav", file), at_16k());
    REQUIRE(audio);
    CHECK(audio->samples.size() == 3);
}

TEST_CASE("raw samples: however the pipe cuts them, the same samples come out") {
    std::string bytes;
    for (int i = 0; i < 999; i++) bytes += le(static_cast<uint64_t>(i * 31), 2);
    std::vector<float> expected;
    audio::Options options = at_16k();
    options.format = audio::Format::s16le;
    for (const size_t step : {1u, 3u, 7u, 1000000u}) {
        const Pipe pipe(bytes, step);
        const auto audio = audio::read(pipe.path, options);
        REQUIRE(audio);
        if (expected.empty()) expected = audio->samples;
        CHECK(audio->samples == expected);
        CHECK(audio->samples.size() == 999);
    }
}

TEST_CASE("raw samples: two channels are taken apart, never mixed") {
    audio::Options options = at_16k();
    options.format = audio::Format::s16le;
    options.raw_channels = 2;
    const std::string path = write("stereo.raw", le(0x4000, 2) + le(0x2000, 2));
    refused(path, options, "2 channels");
    options.channel = 2;
    const auto audio = audio::read(path, options);
    REQUIRE(audio);
    CHECK(audio->samples == std::vector<float>{0.25f});
    options.channel = 3;
    refused(path, options, "no channel 3");
}

TEST_CASE("another rate is refused, or resampled when asked") {
    std::string samples;
    for (int i = 0; i < 8000; i++)
        samples +=
            le(static_cast<uint64_t>(static_cast<int16_t>(10000 * std::sin(2 * M_PI * 440 * i / 8000))), 2);
    const std::string path = write("8k.wav", wav(samples, static_cast<uint32_t>(samples.size()), 8000));
    refused(path, at_16k(), "8000 Hz and the model wants 16000 Hz");
    audio::Options options = at_16k();
    options.resample = true;
    const auto audio = audio::read(path, options);
    REQUIRE(audio);
    CHECK(audio->sample_rate == 16000);
    CHECK(audio->samples.size() == 16000);
    double error = 0; // away from the edges it is the same tone
    for (size_t i = 2000; i < 14000; i++)
        error = std::max(
            error, std::fabs(audio->samples[i] -
                             10000.0 / 32768 * std::sin(2 * M_PI * 440 * static_cast<double>(i) / 16000)));
    CHECK(error < 1e-3);
}

TEST_CASE("FLAC and Ogg are decoded, from files and from pipes") {
    for (const int format : {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS}) {
        SF_INFO info = {};
        info.samplerate = 16000;
        info.channels = 1;
        info.format = format;
        const std::string path = folder() + "/compressed";
        SNDFILE *file = sf_open(path.c_str(), SFM_WRITE, &info);
        REQUIRE(file);
        const std::vector<float> silence(4000, 0.25f);
        sf_writef_float(file, silence.data(), 4000);
        sf_close(file);
        const auto audio = audio::read(path, at_16k());
        REQUIRE(audio);
        CHECK(audio->samples.size() == 4000);
        const Pipe pipe(contents(path));
        const auto piped = audio::read(pipe.path, at_16k());
        REQUIRE(piped);
        CHECK(piped->samples == audio->samples);
    }
}

TEST_CASE("what cannot be read says so in one line with the file's name") {
    refused(folder() + "/none.wav", at_16k(), "none.wav: cannot be opened");
    refused(folder(), at_16k(), "is a folder");
    refused(write("empty.wav", ""), at_16k(), "empty.wav: is empty");
    refused(write("text.wav", "this is not audio at all"), at_16k(), "is text, not audio");
    refused(write("cut.wav", wav(three, 6).substr(0, 30)), at_16k(), "before its first sample");
    refused(write("nothing.wav", wav("", 0)), at_16k(), "contains no samples");
    refused(write("noformat.wav", "RIFF" + le(0, 4) + "WAVE" + "data" + le(6, 4) + three), at_16k(),
            "before their format");
    refused(write("zero.wav", wav(three, 6, 0)), at_16k(), "1 channels at 0 Hz");
    refused(write("flac.flac", "fLaC and then nonsense"), at_16k(), "cannot be decoded");
}

TEST_CASE("wav: cut anywhere, a header is an error or the samples that are there, never a crash") {
    const std::string whole = wav(three, 6);
    for (size_t n = 0; n <= whole.size(); n++) {
        const auto audio = audio::read(write("any.wav", whole.substr(0, n)), at_16k());
        if (audio) CHECK(audio->samples.size() <= 3);
        else CHECK(audio.status().fault() == Fault::input);
    }
}

} // namespace audio_test
