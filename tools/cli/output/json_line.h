// JSON for the standard output: one object, one line, valid whatever bytes the paths in it hold.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Bytes that are no UTF-8 become U+FFFD: a name that JSON cannot hold is no reason to lose the line.
inline std::string json_line(const nlohmann::ordered_json &json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace longwave::cli
