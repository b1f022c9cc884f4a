// The compile report (JSON, keys: docs/architecture.md) as lines for people. A key that is unknown or
// missing costs its words, not the report.
#pragma once
#include "formats/base/expected.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Fault::input, with `where` before it, for a value of another type than the layout says.
Expected<std::string> report_text(const nlohmann::ordered_json &report, const std::string &where);

} // namespace longwave::cli
