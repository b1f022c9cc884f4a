// The one reader of JSON from outside. It limits depth and number of values, because such text
// would cost memory and stack without end. It rejects keys that are given twice, because parsers
// disagree about which one counts.
#pragma once
#include "formats/package/problems.h"
#include <optional>

namespace longwave::package {

struct JsonLimits {
    size_t depth = 0;
    size_t values = 262'144; // a value takes many times the bytes of its text, and longer to read
    size_t keys = SIZE_MAX;  // of one object
};

// Problems have the place in `source` (a file name for messages) for bad syntax, and a JSON path
// for keys given twice. Numbers that do not fit a double are bad syntax. Work is linear in the
// text. Json: nlohmann::json, or nlohmann::ordered_json, which keeps the order of keys and needs
// limits.keys to stay linear.
template <class Json> std::optional<Json> parse_json(std::string_view text, const std::string &source,
                                                     const JsonLimits &limits, Problems &problems);

inline std::optional<nlohmann::json> parse_json(std::string_view text, const std::string &source,
                                                size_t max_depth, Problems &problems) {
    return parse_json<nlohmann::json>(text, source, JsonLimits{.depth = max_depth}, problems);
}

// A member that becomes a list with its first element.
//
// nlohmann-json lets a null value become a list or an object by itself (`x["names"].push_back(1)`).
// Without memory for it, version 3.11.2 leaves a value that crashes where it is destroyed.

template <class Json> Json &list_in(Json &object, const char *name) {
    Json &member = object[name];
    if (member.is_null()) member = Json::array();
    return member;
}

} // namespace longwave::package
