// JSON for standard output: one object per line, valid for any bytes in paths.
#pragma once
#include "tools/cli/output/printable.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Bytes that are not UTF-8 become U+FFFD. Characters that a reader cannot see are JSON escapes.
inline std::string json_line(const nlohmann::ordered_json &json, int indent = -1) {
    return printable_json(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// The list of that name, made if there is none. push_back on a null makes one too, but nlohmann
// 3.11.2 crashes there when memory is short.
inline nlohmann::ordered_json &list_in(nlohmann::ordered_json &object, const char *name) {
    nlohmann::ordered_json &list = object[name];
    if (list.is_null()) list = nlohmann::ordered_json::array();
    return list;
}

} // namespace longwave::cli
