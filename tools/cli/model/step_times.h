// The time of each step of a compiled model on this machine, at each level of code that it can run.
#pragma once
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include <string>
#include <vector>

namespace longwave::cli {

struct StepTimes {
    std::string target;                  // "x86-64-v3"
    std::vector<std::vector<double>> us; // [entry][step]: median over firings; 0: never ran
};

// Runs the longest offline entry and every stream entry of the CPU on random input, at every level
// that the file contains and this CPU runs: about 0.2 s each. One thread, not pinned.
Expected<std::vector<StepTimes>> measure_steps(const ArtifactFile &file, const ModelFlags &flags);

} // namespace longwave::cli
