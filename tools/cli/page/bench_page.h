// The page of `longwave bench --html`: charts of what it measured.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// `json`: what `longwave bench --json` prints, or `bench --layers --json`.
std::string bench_page(const nlohmann::ordered_json &json);

} // namespace longwave::cli
