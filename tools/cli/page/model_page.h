// The page of `longwave inspect --html`: what is in a compiled model, to look at.
#pragma once
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/step_times.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

struct PageInputs {
    const ArtifactFile &file;
    // The compile report and the list of certificates, untrusted; null where the file has none.
    const nlohmann::ordered_json &report, &certificates;
    const std::string &signature;        // in words
    const std::vector<StepTimes> &times; // per target, measured here; may be empty
};

// One self-contained page without network and scripts, below 500 kB for any model: long lists are
// cut and say so. Fault::input, with `where` before it: the report has a value of a wrong type.
Expected<std::string> model_page(const PageInputs &in, const std::string &where);

} // namespace longwave::cli
