#include "tools/cli/output/text.h"
#include "tools/cli/output/printable.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace longwave::cli {

std::string format_list(const char *pattern, va_list list) {
    va_list again;
    va_copy(again, list);
    const int n = std::vsnprintf(nullptr, 0, pattern, list);
    std::string text(static_cast<size_t>(std::max(n, 0)), '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
    va_end(again);
    return text;
}

std::string format(const char *pattern, ...) {
    va_list list;
    va_start(list, pattern);
    std::string text = format_list(pattern, list);
    va_end(list);
    return text;
}

std::string bytes_text(uint64_t bytes) {
    const double value = static_cast<double>(bytes);
    if (bytes < 1000) return format("%llu B", static_cast<unsigned long long>(bytes));
    if (bytes < 10000) return format("%.1f kB", value / 1e3);
    if (bytes < 1000000) return format("%.0f kB", value / 1e3);
    if (bytes < 10000000) return format("%.1f MB", value / 1e6);
    return format("%.0f MB", value / 1e6);
}

std::string count_text(uint64_t n) {
    if (n < 10000) return format("%llu", static_cast<unsigned long long>(n));
    if (n < 10000000) return format("%.0f k", static_cast<double>(n) / 1e3);
    return format("%.0f M", static_cast<double>(n) / 1e6);
}

std::string seconds_text(double seconds) {
    if (seconds < 1e-3) return format("%.3g µs", seconds * 1e6);
    if (seconds < 1) return format("%.3g ms", seconds * 1e3);
    return format("%.1f s", seconds);
}

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(separator, at), text.size());
        if (end > at) parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::string padded(std::string text, size_t columns) {
    const auto characters = static_cast<size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    if (characters < columns) text.append(columns - characters, ' ');
    return text;
}

bool on_terminal() { return isatty(STDERR_FILENO) == 1; }

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress() : start_(now()) {}

void Progress::show(size_t done, size_t total, const std::string &what) {
    static const bool terminal = on_terminal();
    const double t = now();
    if (!terminal || t - start_ < 1 || (t - last_ < 0.1 && done != total)) return;
    last_ = t;
    shown_ = true;
    constexpr size_t width = 24;
    const std::string text = printable_start(what, 60);
    if (total == 0) {
        std::fprintf(stderr, "\r\033[K%zu %s", done, text.c_str());
    } else {
        const size_t filled = std::min(width, width * done / total);
        std::fprintf(stderr, "\r\033[K[%s%s] %zu/%zu %s", std::string(filled, '#').c_str(),
                     std::string(width - filled, '.').c_str(), done, total, text.c_str());
    }
    std::fflush(stderr);
}

void Progress::finish() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
}

} // namespace longwave::cli
