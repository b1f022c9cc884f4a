// Reads audio from files and pipes as mono float samples in [-1, 1).
#pragma once
#include "formats/base/expected.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace longwave::audio {

enum class Format {
    detect, // by the first bytes; what begins like no known file is refused
    s16le,  // raw, little-endian; s24le has 3 bytes per sample
    s24le,
    s24_32le, // 24 bits in the low bytes of 4: S24_LE of ALSA
    s32le,
    f32le,
    mulaw, // raw, G.711
    alaw
};

struct Options {
    Format format = Format::detect;
    uint32_t sample_rate = 0;                // rate wanted; 0: as the file says
    uint32_t raw_rate = 0;                   // rate of raw samples; 0: the rate wanted
    uint32_t channel = 0;                    // 1 is the first; 0: files with one channel only
    uint32_t raw_channels = 1;               // interleaved channels of raw samples
    bool resample = false;                   // convert other rates instead of refusing them
    bool offers_format = false;              // for messages: the user could have said that samples are raw
    const std::atomic<bool> *stop = nullptr; // when it is true, the input ends; a signal wakes a read
    // Told once, in one line, of an input that ends before the samples that its header promises.
    std::function<void(const std::string &)> warn;
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

// Why a file is not read, by its first bytes, "is text, ...". Empty: it may be. A later failure is one of
// damage, rate or channels.
Expected<std::string> why_unreadable(const std::string &path);

// A whole file; one without samples is an error.
Expected<Audio> read(const std::string &path, const Options &options);

} // namespace longwave::audio
