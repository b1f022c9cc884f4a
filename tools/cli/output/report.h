// The compile report (JSON, keys: docs/architecture.md) as text. Unknown keys are ignored, and
// missing keys leave their words out.
#pragma once
#include "formats/base/expected.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Fault::input, with `where` before it, a value has the wrong type.
Expected<std::string> report_text(const nlohmann::ordered_json &report, const std::string &where);

// The same for a reader who has the file before him: without what the file says itself (sizes of
// weights, tables, state and code).
struct ReportText {
    std::string title, body;
};
Expected<ReportText> report_of_model(const nlohmann::ordered_json &report, const std::string &where);

} // namespace longwave::cli
