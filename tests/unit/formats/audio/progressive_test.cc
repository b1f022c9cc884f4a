// FLAC and Ogg on a pipe: samples come while it is open, and memory does not grow.
#include "tests/unit/formats/audio/audio_files.h"
#include <atomic>
#include <chrono>
#include <pthread.h>
#include <random>
#include <sndfile.h>

namespace audio_progressive_test {

using namespace audio_files;

namespace {

constexpr int formats[] = {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
                           SF_FORMAT_OGG | SF_FORMAT_OPUS, SF_FORMAT_AU | SF_FORMAT_PCM_16};

std::string noise(int format, size_t seconds) {
    const std::string path = folder() + "/long";
    SF_INFO info = {};
    info.samplerate = 16000;
    info.channels = 1;
    info.format = format;
    SNDFILE *file = sf_open(path.c_str(), SFM_WRITE, &info);
    REQUIRE(file);
    std::mt19937 random(1);
    std::vector<float> second(16000);
    for (size_t i = 0; i < seconds; i++) {
        for (float &value : second) value = static_cast<float>(random() % 20001) / 40000.0f - 0.25f;
        sf_write_float(file, second.data(), 16000);
    }
    sf_close(file);
    return contents(path);
}

size_t resident_kilobytes() {
    std::ifstream file("/proc/self/statm");
    size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

} // namespace

TEST_CASE("progressive: three quarters of the audio are heard before the pipe closes") {
    for (const int format : formats) {
        INFO(format);
        constexpr size_t seconds = 12;
        const std::string bytes = noise(format, seconds), path = folder() + "/slow" + std::to_string(format);
        REQUIRE(mknod(path.c_str(), S_IFIFO | 0600, 0) == 0);
        std::atomic<size_t> heard{0};
        size_t heard_before_closing = 0;
        std::signal(SIGPIPE, SIG_IGN);
        std::thread writer([&] {
            const int fd = open(path.c_str(), O_WRONLY);
            size_t at = 0; // the last bytes only when enough was heard, or nobody will hear it
            while (at < bytes.size() - 1000) {
                const size_t n = std::min<size_t>(500, bytes.size() - 1000 - at);
                if (::write(fd, bytes.data() + at, n) < 0) break;
                at += n;
            }
            for (int waits = 0; waits < 2000 && heard < seconds * 12000; waits++)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            heard_before_closing = heard;
            CHECK(::write(fd, bytes.data() + at, bytes.size() - at) > 0);
            close(fd);
        });
        auto reader = audio::Reader::open(path, at_16k());
        INFO(reader.status().message());
        REQUIRE(reader);
        float samples[4096];
        for (;;) {
            const auto got = reader->read(samples, 4096);
            REQUIRE(got);
            if (*got == 0) break;
            heard += *got;
        }
        writer.join();
        CHECK(heard_before_closing >= seconds * 12000);
        CHECK(heard >= seconds * 16000);
        CHECK(heard <= seconds * 16000 + 2000);
    }
}

TEST_CASE("progressive: a signal ends the audio of a pipe that stays open") {
    struct sigaction wake = {};
    wake.sa_handler = [](int) {};
    REQUIRE(sigaction(SIGUSR1, &wake, nullptr) == 0); // without SA_RESTART
    for (const int format : formats) {
        INFO(format);
        const std::string bytes = noise(format, 4), path = folder() + "/endless" + std::to_string(format);
        REQUIRE(mknod(path.c_str(), S_IFIFO | 0600, 0) == 0);
        const int writer = open(path.c_str(), O_RDWR);
        REQUIRE(writer >= 0);
        std::thread writing([&] { CHECK(::write(writer, bytes.data(), bytes.size() - 1000) > 0); });
        std::atomic<bool> stop{false}, done{false};
        std::atomic<size_t> heard{0};
        audio::Options options = at_16k();
        options.stop = &stop;
        auto reader = audio::Reader::open(path, options);
        REQUIRE(reader);
        const pthread_t self = pthread_self();
        std::thread stopping([&] {
            for (int waits = 0; waits < 2000 && heard < 32000; waits++)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            stop = true;
            while (!done) { // the first may come before the read begins
                pthread_kill(self, SIGUSR1);
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        });
        float samples[1024];
        for (;;) {
            const auto got = reader->read(samples, 1024);
            CHECK(got);
            if (!got || *got == 0) break;
            heard += *got;
        }
        done = true;
        stopping.join();
        writing.join();
        CHECK(heard >= 32000);
        close(writer);
    }
}

TEST_CASE("progressive: the first read of a file or pipe has as many samples as the next") {
    for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_AU | SF_FORMAT_PCM_16}) {
        const std::string bytes = noise(format, 1);
        const Pipe pipe(bytes);
        for (const std::string &path : {folder() + "/long", pipe.path}) {
            auto reader = audio::Reader::open(path, at_16k());
            REQUIRE(reader);
            float samples[160];
            for (int reads = 0; reads < 10; reads++) {
                const auto got = reader->read(samples, 160);
                REQUIRE(got);
                CHECK(*got == 160);
            }
            while (*reader->read(samples, 160) > 0) {
            }
        }
    }
}

TEST_CASE("progressive: memory stays flat") {
    for (const int format : formats) {
        INFO(format);
        constexpr size_t seconds = 100;
        const std::string bytes = noise(format, seconds);
        REQUIRE(bytes.size() > 300'000);
        const Pipe pipe(bytes, 65536);
        auto reader = audio::Reader::open(pipe.path, at_16k());
        REQUIRE(reader);
        float samples[4096];
        size_t heard = 0, early = 0, late = 0;
        for (;;) {
            const auto got = reader->read(samples, 4096);
            REQUIRE(got);
            if (*got == 0) break;
            heard += *got;
            if (early == 0 && heard >= seconds * 16000 / 10) early = resident_kilobytes();
            if (heard >= seconds * 16000 * 9 / 10) late = std::max(late, resident_kilobytes());
        }
        CHECK(heard >= seconds * 16000);
        CHECK(late < early + bytes.size() / 1024 / 3); // kept, eight tenths of the bytes would be more
    }
}

} // namespace audio_progressive_test
