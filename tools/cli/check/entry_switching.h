// The entry-switching check: several stream entries advance one state, tested on this machine
// through the runtime. A random test switches between entries, with pushes of any size, prefills,
// saved and loaded states, copies and resets. Its rows must equal the offline run, and repeating it
// must give the same bits. Tests also switch between code variants: a state that one saves loads
// into the others.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>
#include <vector>

namespace longwave::cli {

struct EntryCheck {
    std::string variants; // "x86-64-v2, x86-64-v4"
    unsigned walks = 0;
    uint64_t moves = 0, switches = 0; // totals; switches: changes to another entry
    uint64_t rows = 0;                // compared with the offline run
    double largest_error = 0;         // relative to the largest value of the output
    double limit = 0;
    bool compared = false; // false: the model has no offline run
    bool same_bits = true; // in every repeated test
    bool holds() const { return same_bits && largest_error <= limit; }
};

// `models`: the variants of one compiled model that this machine can run. Each test has the length
// of an offline run.
Expected<EntryCheck> check_entries(const std::vector<Model> &models, unsigned walks);
nlohmann::ordered_json to_json(const EntryCheck &walk);
std::string to_text(const EntryCheck &walk);

} // namespace longwave::cli
