// Words and numbers for people.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
std::string bytes_text(uint64_t bytes);                                  // "812 kB"
std::string count_text(uint64_t n);                                      // "165 k"
std::string seconds_text(double seconds);                                // "14.2 s", "11 µs"
std::vector<std::string> split(const std::string &text, char separator); // empty parts are dropped

std::string padded(std::string text,
                   size_t columns); // with spaces behind it; counts characters of UTF-8, not bytes

// Without control characters, which a terminal obeys; line ends stay. For text from outside, whatever it
// claims to be.
std::string printable(std::string text);

bool on_terminal(); // is stderr one?

// One line on stderr that grows; nothing unless stderr is a terminal and a second has passed. finish() (or
// the end of life) clears it.
class Progress {
public:
    Progress();
    ~Progress() { finish(); }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;
    void show(size_t done, size_t total, const std::string &what);
    void finish();

private:
    double start_, last_ = 0;
    bool shown_ = false;
};

double now(); // seconds on a clock that never goes back

} // namespace longwave::cli
