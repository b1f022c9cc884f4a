// Collects everything that is wrong with a package, so that one reading tells all of it: one line each, "where: expected …, found …; way out".
#pragma once
#include "formats/base/status.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::package {

class Problems {
public:
    // `where` is a JSON path ("layers[3].kernel_dim") or "tensor <key>"; `way_out` may be empty.
    void add(std::string_view where, std::string_view expected, std::string_view found, std::string_view way_out = {});
    void line(std::string text);
    void append(const Status &failure); // its lines; nothing when it is ok
    bool any() const { return count_ != 0; }
    size_t count() const { return count_; }
    Status status() const; // ok, or Fault::input with all lines
    // did_you_mean for lists that come from outside: at most a few dozen times, because comparing everything with everything is slow.
    std::string hint(std::string_view word, const std::vector<std::string> &candidates);

private:
    static constexpr size_t max_lines_ = 200, max_hints_ = 32; // a hostile file may be wrong in a million places
    std::vector<std::string> lines_;
    size_t count_ = 0, hints_ = 0;
};

// "did you mean …?" with the candidate that `word` is probably a misspelling of; an empty text when none is near. Long words and lists are not
// searched.
std::string did_you_mean(std::string_view word, const std::vector<std::string> &candidates);
// A JSON value for messages: kind and text, cut when long.
std::string describe(const nlohmann::json &value);
// The value as JSON text, cut when long.
std::string compact(const nlohmann::json &value);
// Text from outside for messages: quoted, escaped, cut when long.
std::string in_quotes(std::string_view text);
// JSON paths: "layers[3]" and "kernel_dim" make "layers[3].kernel_dim"; keys that are no plain words are quoted.
std::string member(std::string_view path, std::string_view key);
std::string element(std::string_view path, size_t index);
// "[16, 1]"; "[] (a scalar)" for rank 0.
template <class Dims> std::string shape_text(const Dims &dims) {
    std::string text = "[";
    for (const auto &d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
    return text + (text.size() == 1 ? "] (a scalar)" : "]");
}

} // namespace longwave::package
