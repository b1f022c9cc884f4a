// The texts of a table: sums of products of sizes, products of numbers, and conditions.
#include "formats/base/checked.h"
#include "formats/huggingface/config.h"
#include <charconv>
#include <cmath>
#include <limits>

namespace longwave::huggingface {
namespace {

constexpr uint64_t too_large = UINT64_MAX;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

// Calls use(part) for each part of `text` between separators.
template <class Use> void for_parts(std::string_view text, char separator, const Use &use) {
    for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1))
        use(trimmed(text.substr(0, end)));
    use(trimmed(text));
}

// bfloat16 keeps the upper half of a float32, rounded to even.
double as_bfloat16(double value) {
    const int exponent = std::ilogb(value) - 7;
    return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

// A key, a number, or one of "sqrt(key)" and "bfloat16_sqrt(key)".
double factor_of(const Config &config, std::string_view text) {
    for (const std::string_view function : {"sqrt(", "bfloat16_sqrt("})
        if (text.starts_with(function) && text.ends_with(')')) {
            const std::string inside(text.substr(function.size(), text.size() - function.size() - 1));
            const double root = std::sqrt(config.number(inside));
            return function == "sqrt(" ? root : as_bfloat16(root);
        }
    const std::string name(text);
    if (const auto found = config.numbers.find(name); found != config.numbers.end()) return found->second;
    if (const auto found = config.sizes.find(name); found != config.sizes.end())
        return static_cast<double>(found->second);
    double value = 0;
    const char *end = text.data() + text.size();
    return std::from_chars(text.data(), end, value).ptr == end ? value
                                                               : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

uint64_t Config::size(const std::string &sum) const {
    uint64_t total = 0;
    bool fits = true;
    for_parts(sum, '+', [&](std::string_view term) {
        uint64_t product = 1;
        for_parts(term, '*', [&](std::string_view factor) {
            uint64_t value = 0;
            const char *end = factor.data() + factor.size();
            if (std::from_chars(factor.data(), end, value).ptr != end) {
                const auto found = sizes.find(std::string(factor));
                fits = fits && found != sizes.end();
                if (found != sizes.end()) value = found->second;
            }
            fits = fits && checked::mul(product, value, &product);
        });
        fits = fits && checked::add(total, product, &total);
    });
    return fits ? total : too_large;
}

double Config::number(const std::string &product) const {
    double value = 1;
    for_parts(product, '*', [&](std::string_view quotient) {
        bool first = true;
        for_parts(quotient, '/', [&](std::string_view factor) {
            const double next = factor_of(*this, factor);
            value = first ? value * next : value / next;
            first = false;
        });
    });
    return value;
}

bool Config::holds(const std::string &when) const {
    if (when.empty()) return true;
    bool all = true;
    for_parts(when, '&', [&](std::string_view part) {
        const bool none = part.front() == '!';
        all = all && (size(std::string(part.substr(none))) == 0) == none;
    });
    return all;
}

} // namespace longwave::huggingface
