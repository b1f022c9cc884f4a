// Files and pipes for tests of formats/audio.
#pragma once
#include "formats/audio/audio.h"
#include <algorithm>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace audio_files {

using namespace longwave;

inline std::string folder() {
    static const std::string path = [] {
        char name[] = "/tmp/longwave-audio-XXXXXX";
        return std::string(mkdtemp(name));
    }();
    return path;
}

inline std::string write(const std::string &name, const std::string &bytes) {
    const std::string path = folder() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

inline std::string contents(const std::string &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string le(uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; i++) text += static_cast<char>(value >> (8 * i));
    return text;
}

// What a program on the other end of a pipe writes, in pieces of `step` bytes.
struct Pipe {
    explicit Pipe(std::string bytes, size_t step = 1 << 20) {
        static int number = 0;
        std::signal(SIGPIPE, SIG_IGN); // a reader may refuse
        path = folder() + "/pipe" + std::to_string(number++);
        REQUIRE(mkfifo() == 0);
        writer = std::thread([this, bytes = std::move(bytes), step] {
            const int fd = open(path.c_str(), O_WRONLY);
            for (size_t at = 0; at < bytes.size(); at += step)
                if (::write(fd, bytes.data() + at, std::min(step, bytes.size() - at)) < 0) break;
            close(fd);
        });
    }
    ~Pipe() { writer.join(); }
    int mkfifo() const;
    std::string path;
    std::thread writer;
};
inline int Pipe::mkfifo() const { return mknod(path.c_str(), S_IFIFO | 0600, 0); }

inline audio::Options at_16k() {
    audio::Options options;
    options.sample_rate = 16000;
    return options;
}

inline void refused(const std::string &path, const audio::Options &options, const std::string &part) {
    const auto result = audio::read(path, options);
    REQUIRE_FALSE(result);
    CHECK(result.status().fault() == Fault::input);
    INFO(result.status().message());
    CHECK(result.status().message().find(part) != std::string::npos);
    CHECK(result.status().message().find('\n') == std::string::npos);
}

} // namespace audio_files
