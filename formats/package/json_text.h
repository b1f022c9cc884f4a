// JSON from outside: a plain parse, but keys given twice are refused (parsers disagree about which one
// counts) and nesting is limited.
#pragma once
#include "formats/package/problems.h"
#include <optional>

namespace longwave::package {

// What is wrong goes to `problems`: the place in `source` (a file name for messages) for bad syntax, a JSON
// path for keys given twice. Numbers that do not fit a double are bad syntax; more than 262 144 values are
// refused. Work is linear in the text.
std::optional<nlohmann::json> parse_json(std::string_view text, const std::string &source, size_t max_depth,
                                         Problems &problems);

} // namespace longwave::package
