// Every container and codec that libsndfile writes: its own reading is what is right.
#include "tests/unit/formats/audio/audio_files.h"
#include <cmath>
#include <sndfile.h>

namespace audio_containers_test {

using namespace audio_files;

namespace {

constexpr uint32_t channels = 2;

struct Container {
    const char *name;
    int format;
    bool on_pipes;
};

const Container containers[] = {
    {"WAV u8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, true},
    {"WAV s16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, true},
    {"WAV s24", SF_FORMAT_WAV | SF_FORMAT_PCM_24, true},
    {"WAV s32", SF_FORMAT_WAV | SF_FORMAT_PCM_32, true},
    {"WAV f32", SF_FORMAT_WAV | SF_FORMAT_FLOAT, true},
    {"WAV f64", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, true},
    {"WAV mu-law", SF_FORMAT_WAV | SF_FORMAT_ULAW, true},
    {"WAV A-law", SF_FORMAT_WAV | SF_FORMAT_ALAW, true},
    {"WAV of IMA ADPCM", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, false},
    {"WAV of Microsoft ADPCM", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, false},
    {"WAVEX s16", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, true},
    {"WAVEX s24", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, true},
    {"WAVEX A-law", SF_FORMAT_WAVEX | SF_FORMAT_ALAW, true},
    {"big-endian WAV", SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, true},
    {"big-endian WAV f32", SF_FORMAT_WAV | SF_FORMAT_FLOAT | SF_ENDIAN_BIG, true},
    {"W64 s16", SF_FORMAT_W64 | SF_FORMAT_PCM_16, true},
    {"W64 mu-law", SF_FORMAT_W64 | SF_FORMAT_ULAW, true},
    {"W64 f64", SF_FORMAT_W64 | SF_FORMAT_DOUBLE, true},
    {"RF64 s16", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, true},
    {"RF64 s24", SF_FORMAT_RF64 | SF_FORMAT_PCM_24, true},
    {"AU s8", SF_FORMAT_AU | SF_FORMAT_PCM_S8, true},
    {"AU s16", SF_FORMAT_AU | SF_FORMAT_PCM_16, true},
    {"AU s24", SF_FORMAT_AU | SF_FORMAT_PCM_24, true},
    {"AU f32", SF_FORMAT_AU | SF_FORMAT_FLOAT, true},
    {"AU mu-law", SF_FORMAT_AU | SF_FORMAT_ULAW, true},
    {"AU A-law", SF_FORMAT_AU | SF_FORMAT_ALAW, true},
    {"little-endian AU", SF_FORMAT_AU | SF_FORMAT_PCM_32 | SF_ENDIAN_LITTLE, true},
    {"FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, true},
    {"FLAC s24", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, true},
    {"Ogg Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, true},
    {"Ogg Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, true},
    {"AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, false},
    {"AIFF-C", SF_FORMAT_AIFF | SF_FORMAT_FLOAT, false},
    {"CAF", SF_FORMAT_CAF | SF_FORMAT_PCM_24, false},
    {"SPHERE (NIST)", SF_FORMAT_NIST | SF_FORMAT_PCM_16, false},
    {"VOC", SF_FORMAT_VOC | SF_FORMAT_PCM_16, false},
    {"8SVX", SF_FORMAT_SVX | SF_FORMAT_PCM_S8, false},
    {"16SV", SF_FORMAT_SVX | SF_FORMAT_PCM_16, false},
    {"IRCAM", SF_FORMAT_IRCAM | SF_FORMAT_PCM_16, false},
    {"IRCAM", SF_FORMAT_IRCAM | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE, false},
    {"PAF", SF_FORMAT_PAF | SF_FORMAT_PCM_16, false},
    {"PVF", SF_FORMAT_PVF | SF_FORMAT_PCM_16, false},
    {"AVR", SF_FORMAT_AVR | SF_FORMAT_PCM_16, false},
};

// False: this libsndfile does not know the format.
bool write_sound(const std::string &path, int format) {
    SF_INFO info = {};
    info.samplerate = 16000;
    info.channels = channels;
    info.format = format;
    SNDFILE *file = sf_open(path.c_str(), SFM_WRITE, &info);
    if (!file) return false;
    std::vector<float> samples(channels * 6000);
    for (size_t i = 0; i < samples.size(); i++)
        samples[i] =
            0.9f * std::sin(0.07f * static_cast<float>(i)) * std::sin(0.0005f * static_cast<float>(i));
    sf_write_float(file, samples.data(), static_cast<sf_count_t>(samples.size()));
    sf_close(file);
    return true;
}

std::vector<float> second_channel(const std::string &path) {
    SF_INFO info = {};
    SNDFILE *file = sf_open(path.c_str(), SFM_READ, &info);
    REQUIRE(file);
    std::vector<float> samples(static_cast<size_t>(info.frames) * channels), second;
    samples.resize(
        static_cast<size_t>(sf_read_float(file, samples.data(), static_cast<sf_count_t>(samples.size()))));
    sf_close(file);
    for (size_t i = 1; i < samples.size(); i += channels) second.push_back(samples[i]);
    return second;
}

audio::Options second() {
    audio::Options options = at_16k();
    options.channel = 2;
    return options;
}

} // namespace

TEST_CASE("containers: files and pipes of every kind give what libsndfile reads, or are refused by name") {
    for (const auto &[name, format, on_pipes] : containers) {
        INFO(name);
        const std::string path = folder() + "/container";
        if (!write_sound(path, format)) {
            MESSAGE("SKIPPED: this libsndfile does not write two channels of ", std::string(name));
            continue;
        }
        const auto right = second_channel(path);
        CHECK(right.size() >= 6000);
        const auto read = audio::read(path, second());
        INFO(read.status().message());
        REQUIRE(read);
        CHECK(read->samples == right);
        refused(path, at_16k(), "2 channels"); // the guard of channels holds for each
        for (const size_t step : {100u, 1000000u}) {
            const Pipe pipe(contents(path), step);
            if (!on_pipes) {
                refused(pipe.path, second(),
                        std::string("is ") + name + ", which is read from a file but not from a pipe");
                continue;
            }
            const auto piped = audio::read(pipe.path, second());
            INFO(piped.status().message());
            REQUIRE(piped);
            CHECK(piped->samples == right);
        }
    }
}

TEST_CASE("containers: the guard of rates holds on pipes too") {
    audio::Options options = second();
    options.sample_rate = 8000;
    for (const auto &[name, format, on_pipes] : containers) {
        INFO(name);
        const std::string path = folder() + "/container";
        if (!on_pipes || !write_sound(path, format)) continue;
        const Pipe pipe(contents(path));
        refused(pipe.path, options, "16000 Hz and the model wants 8000 Hz");
    }
}

TEST_CASE("containers: of several streams one behind the other none is dropped without a word") {
    for (const auto &[name, format, on_pipes] : containers) {
        const std::string path = folder() + "/container", kind = std::string(name).substr(0, 4);
        if ((kind != "FLAC" && kind != "Ogg ") || !write_sound(path, format)) continue;
        INFO(name);
        const std::string one = contents(path), part = "with another stream behind the first";
        for (const std::string &rest : {one, "TAG" + std::string(125, 'x') + one}) {
            refused(write("chain", one + rest), second(), part);
            for (const size_t step : {1000u, 1000000u}) {
                const Pipe pipe(one + rest, step);
                refused(pipe.path, second(), part);
            }
        }
        const Pipe pipe(one + "TAG" + std::string(125, 'x')); // a tag of ID3v1 is not a stream
        for (const auto &read : {audio::read(write("tag", one + "TAG" + std::string(125, 'x')), second()),
                                 audio::read(pipe.path, second())}) {
            INFO(read.status().message());
            REQUIRE(read);
            CHECK(read->samples == second_channel(path));
        }
    }
}

TEST_CASE("raw samples: every format gives what libsndfile reads") {
    const std::pair<audio::Format, int> formats[] = {{audio::Format::s16le, SF_FORMAT_PCM_16},
                                                     {audio::Format::s24le, SF_FORMAT_PCM_24},
                                                     {audio::Format::s32le, SF_FORMAT_PCM_32},
                                                     {audio::Format::mulaw, SF_FORMAT_ULAW},
                                                     {audio::Format::alaw, SF_FORMAT_ALAW}};
    std::string bytes;
    for (int i = 0; i < 256; i++) bytes += static_cast<char>(i);
    for (int i = 0; i < 12 * 4096; i++) bytes += static_cast<char>(i * i * 31 >> 5);
    const std::string path = write("samples.raw", bytes);
    for (const auto &[format, subtype] : formats) {
        INFO(int(format));
        SF_INFO info = {};
        info.samplerate = 16000;
        info.channels = 1;
        info.format = SF_FORMAT_RAW | subtype | SF_ENDIAN_LITTLE;
        SNDFILE *file = sf_open(path.c_str(), SFM_READ, &info);
        REQUIRE(file);
        std::vector<float> right(static_cast<size_t>(info.frames));
        CHECK(sf_read_float(file, right.data(), info.frames) == info.frames);
        sf_close(file);
        audio::Options options = at_16k();
        options.format = format;
        const Pipe pipe(bytes, 1001);
        for (const auto &read : {audio::read(path, options), audio::read(pipe.path, options)}) {
            REQUIRE(read);
            CHECK(read->samples == right);
        }
    }
}

} // namespace audio_containers_test
