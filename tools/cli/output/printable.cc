#include "tools/cli/output/printable.h"
#include "formats/base/characters.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <ostream>
#include <streambuf>

namespace longwave::cli {
namespace {

std::string hexadecimal(const char *pattern, uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

// Appends what `escape` makes of each character that is_unseen and `stays` does not keep.
template <class Stays, class Escape, class Invalid>
std::string replaced(std::string_view text, Stays stays, Escape escape, Invalid invalid) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Character c = character_at(reinterpret_cast<const uint8_t *>(text.data()), text.size());
        if (c.bytes == 0) out += invalid(static_cast<uint8_t>(text[0]));
        else if (!is_unseen(c.code) || stays(c.code)) out += text.substr(0, c.bytes);
        else out += escape(c.code);
        text.remove_prefix(std::max<size_t>(1, c.bytes));
    }
    return out;
}

// As formats/package/problems.cc shows them.
std::string visible(uint32_t point) {
    return hexadecimal(point < 0x80 ? "\\x%02x" : point > 0xffff ? "\\U%08x" : "\\u%04x", point);
}
std::string visible_byte(uint8_t byte) { return hexadecimal("\\x%02x", byte); }

class LogLines : public std::streambuf {
    int overflow(int c) override {
        if (c != traits_type::eof()) line_ += static_cast<char>(c);
        return c == '\n' ? sync(), c : c;
    }
    int sync() override {
        print_text(stderr, "%s", line_.c_str());
        line_.clear();
        return 0;
    }
    std::string line_;
};

} // namespace

std::string printable(std::string_view text) {
    return replaced(text, [](uint32_t) { return false; }, visible, visible_byte);
}

std::string printable_lines(std::string_view text) {
    return replaced(
        text, [](uint32_t point) { return point == '\n' || point == '\t'; }, visible, visible_byte);
}

std::string printable_writing(std::string_view text) {
    const auto stays = [](uint32_t point) {
        return point == '\n' || point == '\t' || point == 0x200c || point == 0x200d;
    };
    return replaced(text, stays, visible, visible_byte);
}

std::string printable_start(std::string_view text, size_t bytes) {
    if (text.size() <= bytes) return printable(text);
    size_t end = bytes;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80 && bytes - end < 4)
        end--; // a whole character
    return printable(text.substr(0, end)) + "...";
}

std::string printable_last_line(const std::string &text, size_t bytes) {
    const std::vector<std::string> lines = split(text, '\n');
    return lines.empty() ? "" : printable_start(lines.back(), bytes);
}

// Control characters below U+0020 in valid JSON are the white space between its values.
std::string printable_json(std::string_view json) {
    const auto escape = [](uint32_t point) {
        if (point <= 0xffff) return hexadecimal("\\u%04x", point);
        return hexadecimal("\\u%04x", 0xd800 + ((point - 0x10000) >> 10)) +
               hexadecimal("\\u%04x", 0xdc00 + ((point - 0x10000) & 0x3ff));
    };
    return replaced(
        json, [](uint32_t point) { return point < 0x20; }, escape, [](uint8_t) { return "\\ufffd"; });
}

void print_text(FILE *to, const char *pattern, ...) {
    va_list list;
    va_start(list, pattern);
    const std::string text = printable_lines(format_list(pattern, list));
    va_end(list);
    std::fwrite(text.data(), 1, text.size(), to);
}

void print_warning(const std::string &text) { print_text(stderr, "warning: %s\n", printable(text).c_str()); }

std::ostream &printable_log() {
    static LogLines lines;
    static std::ostream stream(&lines);
    return stream;
}

} // namespace longwave::cli
