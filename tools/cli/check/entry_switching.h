// The promise that several stream entries advance one state, tried on this machine through the runtime:
// random walks through the entries, with pushes of any size, prefills, saved and loaded states, copies and
// resets between them, give the rows of the whole; and the same walk twice gives the same bits. The walks
// also go from one code variant to another: a state saved by one loads into the others.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>
#include <vector>

namespace longwave::cli {

struct Walk {
    std::string variants; // "x86-64-v2, x86-64-v4"
    unsigned walks = 0;
    uint64_t moves = 0, switches = 0,
             rows = 0; // in all; switches: the stream went on in another entry; rows: compared with the whole
    double largest_error = 0; // relative to the largest value of the output
    double limit = 0;
    bool compared = false; // false: no whole-sequence entry to compare with
    bool same_bits = true; // every walk, taken again
    bool holds() const { return same_bits && largest_error <= limit; }
};

// `models`: the variants of one artifact that run here. Each walk covers the capacity of a run.
Expected<Walk> walk_entries(const std::vector<Model> &models, unsigned walks);
nlohmann::ordered_json to_json(const Walk &walk);
std::string to_text(const Walk &walk);

} // namespace longwave::cli
