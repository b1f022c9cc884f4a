// Text output for users: formatted numbers, and the progress line. printable.h: foreign text.
#pragma once
#include "formats/base/expected.h"
#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format_list(const char *pattern, va_list list) __attribute__((format(printf, 1, 0)));
std::string bytes_text(uint64_t bytes);                                  // "812 kB"
std::string count_text(uint64_t n);                                      // "165 k"
std::string seconds_text(double seconds);                                // "14.2 s", "11 µs"
std::vector<std::string> split(const std::string &text, char separator); // without empty parts

std::string padded(std::string text,
                   size_t columns); // adds spaces; counts UTF-8 characters, not bytes

bool on_terminal(); // whether stderr is a terminal

// A progress line on stderr. It appears after one second, on a terminal only. finish() and the
// destructor clear it.
class Progress {
public:
    Progress();
    ~Progress() { finish(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;
    // `total` 0: not known. `what`: the unit, or what is at work.
    void show(size_t done, size_t total, const std::string &what);
    void finish();

private:
    double start_, last_ = 0;
    bool shown_ = false;
};

double now(); // seconds of a monotonic clock

} // namespace longwave::cli
