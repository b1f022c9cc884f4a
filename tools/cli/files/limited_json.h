// JSON that comes inside an artifact: written by whoever made the file.
#pragma once
#include "formats/base/expected.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longwave::cli {

// Fault::input, with `where` before it, for what is no JSON, or larger, nested deeper or wider than any
// report: such text costs its reader memory and stack without end. An empty text is null.
Expected<nlohmann::ordered_json> parse_limited(std::string_view text, const std::string &where);

} // namespace longwave::cli
