// A sound file as the room of examples/lv2 reads it. The first byte chooses the host's rate, the rest is the
// file. What must hold: any bytes give a response of 1, 2 or 4 channels that a shape takes, of finite
// numbers, or a reason of printable ASCII.
extern "C" {
#include "examples/lv2/response.h"
}
#include "tests/fuzz/must.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using longwave::fuzz::must;

// What libsndfile and its codecs forget after refusing a file is theirs to mend.
// Visible: the sanitizer may be a library.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions() {
    return "leak:libvorbis\nleak:libsndfile\nleak:libFLAC\nleak:libopus\n";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    constexpr double rates[] = {8000, 48000, 44100, 192000};
    constexpr size_t most = 6000; // samples of the longest shape
    const int fd = memfd_create("fuzz", 0);
    must(fd >= 0 && write(fd, data + 1, size - 1) == static_cast<ssize_t>(size - 1), "the input is written");
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    Response response = {};
    char reason[REASON] = "";
    const int read = response_read(path.c_str(), rates[data[0] & 3], most, &response, reason);
    close(fd);
    if (read) {
        must(response.channels == 1 || response.channels == 2 || response.channels == 4,
             "1, 2 or 4 channels");
        must(response.samples >= 1 && response.samples <= most, "a response that a shape takes");
        float *end = response.taps + static_cast<size_t>(response.channels) * response.samples;
        must(std::all_of(response.taps, end, [](float tap) { return std::isfinite(tap); }), "finite numbers");
        must(reason[0] == 0, "a response that is read has no reason");
    } else {
        const size_t n = strnlen(reason, REASON);
        must(n > 0 && n < REASON, "a refusal says why");
        must(std::all_of(reason, reason + n, [](char c) { return c >= 0x20 && c <= 0x7e; }),
             "a reason is printable");
        must(!response.taps, "nothing is handed over with a refusal");
    }
    std::free(response.taps);
    return 0;
}
