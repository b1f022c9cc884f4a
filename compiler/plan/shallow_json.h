// JSON files that users give to the compiler: tuning files, times of layers.
#pragma once
#include "formats/package/json_text.h"
#include <nlohmann/json.hpp>
#include <string_view>

namespace longwave::compiler {

// Discarded: not JSON, or nested deeper than any such file.
inline nlohmann::json parse_shallow(std::string_view text) {
    constexpr size_t most_levels = 8;
    package::Problems problems;
    auto document = package::parse_json(text, "the file", most_levels, problems);
    return document ? *std::move(document) : nlohmann::json(nlohmann::json::value_t::discarded);
}

} // namespace longwave::compiler
