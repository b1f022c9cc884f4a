#include "tools/cli/files/limited_json.h"
#include <vector>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// A report has a few levels, some thousand values and some ten keys an object; an ordered object is searched
// from its beginning for every key.
constexpr size_t max_bytes = 16 << 20, max_depth = 32, max_values = 1 << 20, max_keys = 1024;

// Looks at a document without keeping it.
class Measure final : public nlohmann::json_sax<ordered_json> {
public:
    std::string problem;

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t &) override { return value(); }
    bool string(string_t &) override { return value(); }
    bool binary(binary_t &) override { return false; }
    bool start_object(std::size_t) override { return open(); }
    bool start_array(std::size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t &) override {
        return ++keys_.back() <= max_keys ||
               failed("an object has more than " + std::to_string(max_keys) + " keys");
    }
    bool parse_error(std::size_t position, const std::string &,
                     const nlohmann::detail::exception &) override {
        return failed("is no JSON from byte " + std::to_string(position) + " on");
    }

private:
    bool failed(std::string text) {
        problem = std::move(text);
        return false;
    }
    bool value() {
        return ++values_ <= max_values || failed("holds more than " + std::to_string(max_values) + " values");
    }
    bool open() {
        keys_.push_back(0);
        if (keys_.size() > max_depth)
            return failed("is nested deeper than " + std::to_string(max_depth) + " levels");
        return value();
    }
    bool close() {
        keys_.pop_back();
        return true;
    }
    std::vector<size_t> keys_; // of every object and list that is open
    size_t values_ = 0;
};

} // namespace

Expected<ordered_json> parse_limited(std::string_view text, const std::string &where) {
    const auto bad = [&](const std::string &problem) {
        return Status::input(where + " " + problem + "; compile it again, or ask who made it");
    };
    if (text.empty()) return ordered_json();
    if (text.size() > max_bytes) return bad("is longer than " + std::to_string(max_bytes) + " bytes");
    Measure measure;
    if (!ordered_json::sax_parse(text.begin(), text.end(), &measure)) return bad(measure.problem);
    return ordered_json::parse(text.begin(), text.end(), nullptr, false);
}

} // namespace longwave::cli
