// JSON for standard output: one object per line, valid for any bytes in paths.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Bytes that are not UTF-8 become U+FFFD.
inline std::string json_line(const nlohmann::ordered_json &json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace longwave::cli
