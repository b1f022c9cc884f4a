// What the planner predicted of an artifact's layers beside what they take on this machine.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::bench {

struct PlannerOptions {
    std::string path;    // the artifact; code in it runs
    std::string variant; // empty: the best for this CPU
    uint64_t memory = 0; // that the artifact may take; 0: the default
    double seconds = 2;  // spent on each entry
};

// The calls of one kernel rule of a layer in one entry.
struct LayerCost {
    std::string entry;          // "run", "stream 160"
    std::string layer, kernels; // kernels: what its steps call, in order
    std::string algorithm;      // where the planner had a choice; else empty
    double measured_us = 0;     // of a block, or of a whole run: medians of each step, over its period
    double share = 0;           // of all steps of the entry
    double elements = 0;        // output elements of a firing; 0: the planner does not say
    double predicted_ns = 0;    // an output element; 0: the planner had nothing to choose
    double measured_ns = 0;     // the same, where elements are known
    double ratio() const { return predicted_ns > 0 ? measured_ns / predicted_ns : 0; }
};

struct PlannerResult {
    std::string model, variant, version;
    double clock_ns = 0; // of reading the clock: taken off every step
    std::vector<LayerCost> layers;
};

// Runs every run and stream entry on made-up input, on the calling thread, which it does not pin.
// The blocks of a stream follow each other as in use, so caches are as warm as they are there.
Expected<PlannerResult> bench_planner(const PlannerOptions &options);

nlohmann::ordered_json to_json(const PlannerResult &result, const std::string &cpu);
std::string to_text(const PlannerResult &result, const std::string &cpu);

} // namespace longwave::bench
