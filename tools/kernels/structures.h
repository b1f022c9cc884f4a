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

} // namespace longwave::kernels
