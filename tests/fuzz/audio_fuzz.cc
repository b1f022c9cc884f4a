// Audio files and pipes (formats/audio). The first byte says how the rest is opened: bit 0 as a
// pipe, bit 1 with a channel chosen, bits 2-3 as what, bit 4 resampled. What must hold: any bytes
// give samples at the rate asked for or Fault::input in one line (an internal failure only of the
// resampler); what is called unreadable is refused; reading ends; no sample is invented behind the end.
#include "formats/audio/audio.h"
#include "tests/fuzz/must.h"
#include <cmath>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace longwave;
using fuzz::must;

// What libsndfile and its codecs forget after refusing a file is theirs to mend.
// Visible: the sanitizer may be a library.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions() {
    return "leak:libvorbis\nleak:libsndfile\nleak:libFLAC\nleak:libopus\n";
}

namespace {

constexpr size_t most = 60'000; // bytes: a pipe holds as many without a reader

// A descriptor that reads the bytes from the start: a file in memory or a pipe whose writer is
// done.
int opened(const uint8_t *data, size_t size, bool pipe_wanted) {
    int ends[2] = {-1, -1};
    if (pipe_wanted) must(pipe(ends) == 0, "a pipe");
    else ends[0] = ends[1] = memfd_create("fuzz", 0);
    must(ends[0] >= 0 && write(ends[1], data, size) == static_cast<ssize_t>(size), "the input is written");
    if (pipe_wanted) close(ends[1]);
    return ends[0];
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > most) return 0;
    const uint8_t how = data[0];
    const int fd = opened(data + 1, size - 1, how & 1);
    audio::Options options;
    options.channel = how & 2 ? 1 + (how >> 5) % 3 : 0;
    constexpr audio::Format raw[] = {audio::Format::s24le, audio::Format::s32le, audio::Format::mulaw,
                                     audio::Format::alaw};
    options.format = (how >> 2 & 3) == 1   ? audio::Format::s16le
                     : (how >> 2 & 3) == 2 ? audio::Format::f32le
                     : (how >> 2 & 3) == 3 ? raw[how >> 5 & 3]
                                           : audio::Format::detect;
    options.raw_rate = 16000;
    options.raw_channels = how & 2 ? 2 : 1;
    options.resample = how & 16;
    options.sample_rate = options.resample ? 16000 : 0;

    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    std::string unreadable;
    if (!(how & 1)) { // a pipe gives its bytes once
        const auto why = audio::why_unreadable(path);
        must(why || why.status().fault() == Fault::input, "a damaged tag is a fault of the input");
        unreadable = why ? *why : why.status().message();
    }
    auto reader = audio::Reader::open(path, options);
    close(fd);
    must(!reader || unreadable.empty() || options.format != audio::Format::detect,
         "what is unreadable is refused");
    if (!reader) {
        must(reader.status().message().find('\n') == std::string::npos, "a refusal is one line");
        must(!reader.status().message().empty(), "a refusal says why");
        must(reader.status().fault() == Fault::input, "a file from outside is never an internal failure");
        return 0;
    }
    must(reader->sample_rate() > 0, "samples have a rate");
    must(!options.resample || reader->sample_rate() == 16000, "the rate asked for is the rate given");
    float samples[1024];
    // Resampling and decoding make more samples than there are bytes, but a fuzzer's patience is
    // finite: only that it goes on or ends is looked at.
    for (int pieces = 0; pieces < 256; ++pieces) {
        const auto got = reader->read(samples, std::size(samples));
        if (!got || *got == 0) break;
        must(*got <= std::size(samples), "no more samples than were asked for");
    }
    return 0;
}
