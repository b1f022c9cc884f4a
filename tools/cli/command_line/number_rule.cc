#include "tools/cli/command_line/number_rule.h"
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

namespace longwave::cli {
namespace {

// The value of the whole text. Empty: it is no finite decimal number of this type.
template <class Value> std::optional<Value> value_of(const std::string &text) {
    Value value = 0;
    const char *end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return value;
}

// "2G" -> 2147483648. Units as 2G, 2GB and 2GiB, all of them powers of 1024.
std::optional<uint64_t> bytes_of(std::string text) {
    constexpr const char *units = "kmgt";
    for (const char *end : {"ib", "b"}) { // small letters, see below
        const size_t n = std::strlen(end);
        std::string tail = text.size() > n ? text.substr(text.size() - n) : "";
        for (char &c : tail) c |= 0x20;
        if (tail != end) continue;
        text.resize(text.size() - n);
        if (n == 2 && !std::strchr(units, text.back() | 0x20)) return std::nullopt; // "5iB"
        break;
    }
    unsigned shift = 0;
    if (const char *unit = text.empty() ? nullptr : std::strchr(units, text.back() | 0x20)) {
        shift = 10 * static_cast<unsigned>(unit - units + 1);
        text.pop_back();
    }
    const std::optional<uint64_t> number = value_of<uint64_t>(text);
    if (!number || *number > UINT64_MAX >> shift) return std::nullopt;
    return *number << shift;
}

std::optional<int64_t> below_zero(const std::string &text) {
    return text.starts_with('-') ? value_of<int64_t>(text) : std::nullopt;
}

} // namespace

void NumberRule::narrow(long double from, long double to, const std::string &words) {
    low = from;
    high = to < high ? to : high;
    range = words;
}

std::string NumberRule::read(std::string &text) const {
    const std::string expected = std::string("expected ") +
                                 (form == Form::real    ? "a number"
                                  : form == Form::whole ? "a whole number"
                                                        : "bytes, such as 500M or 2G") +
                                 " (" + range + "), not '" + text + "'";
    if (form == Form::real) {
        const std::optional<double> value = value_of<double>(text);
        return value && std::isfinite(*value) && *value >= low && *value <= high ? "" : expected;
    }
    const std::optional<int64_t> negative = below_zero(text);
    const std::optional<uint64_t> value = form == Form::size ? bytes_of(text) : value_of<uint64_t>(text);
    if (negative ? *negative < low : !value || *value < low || *value > high) return expected;
    text = negative ? std::to_string(*negative) : std::to_string(*value); // "010" is ten
    return "";
}

} // namespace longwave::cli
