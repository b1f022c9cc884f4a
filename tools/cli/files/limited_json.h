// JSON inside a compiled model: untrusted text.
#pragma once
#include "formats/base/expected.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longwave::cli {

// An empty text is null. Fault::input, with `where` before it: the text is not JSON, or its size,
// depth or width exceeds that of any report. Such text would cost unbounded memory and stack.
Expected<nlohmann::ordered_json> parse_limited(std::string_view text, const std::string &where);

} // namespace longwave::cli
