// The promise that several stream entries advance one state, tried on this machine through the runtime: random walks through the entries, with pushes of any
// size, prefills, saved and loaded states, copies and resets between them, give the rows of the whole; and the same walk twice gives the same bits.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

struct Walk {
    std::string variant;
    unsigned walks = 0;
    uint64_t moves = 0, switches = 0, rows = 0; // in all; switches: the stream went on in another entry; rows: compared with the whole
    double largest_error = 0;                   // relative to the largest value of the output
    double limit = 0;
    bool compared = false;  // false: no whole-sequence entry to compare with
    bool same_bits = true;  // every walk, taken again
    bool holds() const { return same_bits && largest_error <= limit; }
};

// Each walk covers at most `ticks` ticks (0: the capacity of a run).
Expected<Walk> walk_entries(const Model &model, unsigned walks, size_t ticks = 0);
nlohmann::ordered_json to_json(const Walk &walk);
std::string to_text(const Walk &walk);

} // namespace longwave::cli
