// The compile report (JSON, keys: docs/architecture.md) as text. Unknown keys are ignored, and
// missing keys leave their words out.
#pragma once
#include "formats/base/expected.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Fault::input, with `where` before it, a value has the wrong type.
Expected<std::string> report_text(const nlohmann::ordered_json &report, const std::string &where);

} // namespace longwave::cli
