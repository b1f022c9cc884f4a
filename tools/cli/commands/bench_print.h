// What `longwave bench` measured, for people.
#pragma once
#include <nlohmann/json.hpp>

namespace longwave::cli {

// `json`: what --json prints.
void print_bench(const nlohmann::ordered_json &json);

} // namespace longwave::cli
