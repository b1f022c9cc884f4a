// The compile report (JSON, layout in compiler/README.md) as lines for people. Tolerant: an unknown or missing key costs its words, not the report.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

std::string report_text(const nlohmann::ordered_json &report);

} // namespace longwave::cli
