// Measures the cost tables of the algorithms (compiler/ir/costs.h) on this machine: ns per output
// element (one channel, one row), lower quartiles of calls in a loop. Rows have 128 channels, as in
// a model, so that a transform of a tile of 16 pays for the stride.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::kernels {

struct MeasureOptions {
    const targets::Target *target = nullptr; // one that this machine runs
    std::string kgen, cache;                 // longwave-kgen; kernel cache folder, empty: the user's
    std::string structures;                  // of transforms, empty: the shipped
    double seconds = 0.2;                    // of calls of each kernel
};

// A name for each row of each table, "direct 16", in the order in which they are best measured.
std::vector<std::string> cost_names();
// What it takes: numbers of the row. Fault::usage for no such name, else as load_kernels.
Expected<nlohmann::json> measure_cost(const std::string &name, const MeasureOptions &options);
// costs.json of the measured rows, without provenance. Null while any is missing.
nlohmann::ordered_json assemble_costs(const std::map<std::string, nlohmann::json> &measured);

} // namespace longwave::kernels
