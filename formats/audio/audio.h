// Reads audio from files and pipes as mono float samples in [-1, 1).
#pragma once
#include "formats/base/expected.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace longwave::audio {

enum class Format {
    detect, // by the first bytes; a pipe of no known container is raw s16le, a file that is none is
            // refused
    s16le,  // raw, little endian
    f32le
};

struct Options {
    Format format = Format::detect;
    uint32_t sample_rate = 0;  // rate wanted; 0: as the file says
    uint32_t raw_rate = 0;     // rate of raw samples; 0: the rate wanted
    uint32_t channel = 0;      // 1 is the first; 0: files with one channel only
    uint32_t raw_channels = 1; // interleaved channels of raw samples
    bool resample = false;     // convert other rates instead of refusing them
    const std::atomic<bool> *stop =
        nullptr; // when it becomes true during an interrupted read, the input ends
};

class Source; // where samples come from; see source.h

// An open input. Movable; belongs to one thread at a time.
class Reader {
public:
    // `path` "-" is the standard input. Every failure is Fault::input and names the path.
    static Expected<Reader> open(const std::string &path, const Options &options);

    // Samples from somewhere else (source.h), converted to the rate of `options`. `name` is for
    // messages.
    static Expected<Reader> from(std::unique_ptr<Source> source, const std::string &name,
                                 const Options &options);

    // Waits for at least one sample, then returns what is there, at most n. 0: the end.
    Expected<size_t> read(float *samples, size_t n);
    uint32_t sample_rate() const; // of the samples read() gives

    Reader(Reader &&) noexcept;
    Reader &operator=(Reader &&) noexcept;
    ~Reader();

private:
    explicit Reader(std::unique_ptr<Source> source);
    std::unique_ptr<Source> source_;
};

struct Audio {
    std::vector<float> samples;
    uint32_t sample_rate = 0;
};

// A whole file; one without samples is an error.
Expected<Audio> read(const std::string &path, const Options &options);

} // namespace longwave::audio
