// JSON files that people hand to the compiler: tunings, times of layers.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace longwave::compiler {

// Discarded for what is no JSON, or nested deeper than any such file: reading on would cost stack without end.
inline nlohmann::json parse_shallow(std::string_view text) {
    constexpr int most_levels = 8;
    bool deep = false;
    const auto shallow = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json &) {
        deep = deep || depth > most_levels;
        return !deep;
    };
    const auto all = nlohmann::json::parse(text.begin(), text.end(), shallow, false);
    return deep ? nlohmann::json(nlohmann::json::value_t::discarded) : all;
}

} // namespace longwave::compiler
