// Collects everything that is wrong with a package, so that one reading tells all of it: one line
// each, "where: expected …, found …; way out".
#pragma once
#include "formats/base/status.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::package {

class Problems {
public:
    // `where` is a JSON path ("layers[3].kernel_dim") or "tensor <key>"; `way_out` may be empty.
    void add(std::string_view where, std::string_view expected, std::string_view found,
             std::string_view way_out = {});
    void line(const std::string &text);
    void append(const Status &failure); // its lines; nothing when it is ok
    bool any() const { return count_ != 0; }
    // Nothing more will be listed: loops that may go round a million times only count from here on,
    // for text takes longer to make than to read.
    bool full() const { return count_ >= max_lines; }
    void one_more() { ++count_; }
    size_t count() const { return count_; }
    Status status() const; // ok, or Fault::input with all lines
    // did_you_mean as long as there is patience: comparing every word from outside with every other
    // would take longer than reading them.
    std::string hint(std::string_view word, const std::vector<std::string> &candidates);
    bool patient() const { return patience_ > 0; } // worth making a list of candidates for

private:
    static constexpr size_t max_lines = 200; // a hostile file may be wrong in a million places
    std::vector<std::string> lines_;
    size_t count_ = 0,
           repeated_ = 0; // repeated: lines that are there already, such as of a tensor that is read twice
    int64_t patience_ = 5'000'000; // pairs of letters still to be compared for hints: about ten milliseconds
};

// "did you mean …?" with the candidate that `word` is probably a misspelling of; an empty text when
// none is near. Long words are not looked for, long lists not to their end.
std::string did_you_mean(std::string_view word, const std::vector<std::string> &candidates);
// A JSON value for messages: kind and text, cut when long.
std::string describe(const nlohmann::json &value);
// The value as JSON text, cut when long.
std::string compact(const nlohmann::json &value);
// Text from outside for messages: quoted, escaped, cut when long.
std::string in_quotes(std::string_view text);
// JSON paths: "layers[3]" and "kernel_dim" make "layers[3].kernel_dim"; keys that are no plain
// words are quoted.
std::string member(std::string_view path, std::string_view key);
std::string element(std::string_view path, size_t index);
// "[16, 1]"; "[] (a scalar)" for rank 0.
template <class Dims> std::string shape_text(const Dims &dims) {
    std::string text = "[";
    for (const auto &d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
    return text + (text.size() == 1 ? "] (a scalar)" : "]");
}

} // namespace longwave::package
