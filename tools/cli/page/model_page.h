// The page of `longwave inspect --html`: what is in a compiled model, to look at.
#pragma once
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

// The time of each step of a compiled model on this machine, at each level of code that it can run.

struct StepTimes {
    std::string target;                  // "x86-64-v3"
    std::vector<std::vector<double>> us; // [entry][step]: median over firings; 0: never ran
};

// Runs the longest offline entry and every stream entry of the CPU on random input, at every level
// that the file contains and this CPU runs: about 0.2 s each. One thread, not pinned.
Expected<std::vector<StepTimes>> measure_steps(const ArtifactFile &file, const ModelFlags &flags);

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
