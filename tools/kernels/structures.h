// Structures of transforms (schedules/long_conv/transform.h, long_conv/<target>.json): which there
// are for a length, and how they compare on this machine.
#pragma once
#include "tools/kernels/costs.h"
#include <optional>

namespace longwave::kernels {

struct Structure {
    int vec = 16, outer = 4, columns = 0, chunk = 1, gap = 0;
    bool fused = false;
    bool operator==(const Structure &) const = default;
};

std::string to_text(const Structure &structure); // "vec=16 outer=10 columns=64 chunk=2 gap=1 fused=1"
std::optional<Structure> parse_structure(const std::string &text);
// A row of long_conv/<target>.json.
nlohmann::ordered_json to_json(const Structure &structure, int up_to);

// The lengths that are measured; each row of the table is for lengths up to one of them.
const std::vector<int> &structure_lengths();
// What every transform can be made of: full vectors, levels of four points, one after the other.
Structure generic_structure(const targets::Target &target);
// All that are worth measuring of that length at first: how it is taken apart.
std::vector<Structure> first_candidates(const targets::Target &target, int length);
// Variations of the best of those.
std::vector<Structure> more_candidates(const targets::Target &target, const Structure &best);

struct Comparison {
    double ns = 0;    // an output element, median of rounds
    double ratio = 0; // to the generic structure, median within rounds
};
// Whole sequences of 64 channels, all tiles in turn, beside the generic structure in the same
// process and in turns with it, so that a slow spell of the machine meets everyone. One result for
// each.
Expected<std::vector<Comparison>> compare_structures(int length, const std::vector<Structure> &candidates,
                                                     const MeasureOptions &options);

// Kernels whose speed tells how good a table of structures is: whole sequences of all lengths and
// blocks.
std::vector<std::string> judged_kernels();
// Time with options.structures as a part of the time with the shipped ones, measured likewise.
Expected<double> judge_kernel(const std::string &name, const MeasureOptions &options);

// What is measured for a tuning file, in which order, and what the measurements come to. Pure:
// names and results in, names and tables out, so that a search goes on from a file as if it had
// never stopped.

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
