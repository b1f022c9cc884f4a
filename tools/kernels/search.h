// What is measured for a tuning file, in which order, and what the measurements come to. Pure:
// names and results in, names and tables out, so that a search goes on from a file as if it had
// never stopped.
#pragma once
#include "tools/kernels/structures.h"

namespace longwave::kernels {

// Results by name. A candidate that crashed, hung or could not be compiled is {"failed": why}.
using Measured = std::map<std::string, nlohmann::json>;
bool succeeded(const Measured &measured, const std::string &name);
// Whether it looks like a result of that name: files come from outside.
bool plausible(const std::string &name, const nlohmann::json &result);

// "structures 1024: vec=16 …", several apart by "; ": all that the results so far ask for. A round
// of each length waits for the one before: ways to take it apart, variations of the best, the best
// three against each other.
std::vector<std::string> structure_names(const targets::Target &target, const Measured &measured);
size_t structure_total(const targets::Target &target, const Measured &measured); // of a whole search, about

// The table of long_conv/<target>.json by what was measured so far, without provenance: the best of
// each length. Null when there is none yet.
nlohmann::ordered_json structure_table(const targets::Target &target, const Measured &measured);
// A line for each length, for people: the best, and its time as a part of the generic one's.
std::string structure_summary(const targets::Target &target, const Measured &measured);

// Measures whatever has a name: of structures, "cost " and a row of costs.h, "judge " and a kernel
// of structures.h. Fault::usage for other names.
Expected<nlohmann::json> measure(const std::string &name, const MeasureOptions &options);

} // namespace longwave::kernels
