// Which side computes each layer of a mixed run, the GPU or the CPU: the cheapest way by measured times, what
// crosses between them counted as add_moves makes it cross.
#pragma once
#include "compiler/plan/entry_plan.h"
#include <limits>
#include <string>
#include <vector>

namespace longwave::compiler {

// µs of a run. A time that is infinite: that side cannot compute the layer.
struct LayerTimes {
    double cpu = 0, device = 0;
};
inline constexpr double never = std::numeric_limits<double>::infinity();

// Measured of a device and its link.
struct MoveTimes {
    double submission = 0; // µs that handing one piece over and waiting for it takes, whatever is in it
    double byte = 0;       // µs
    double move = 0;       // µs of each, whatever its size
};

// Layers, values and the way through them in the order of the plan, as numbers from 0.
struct TransferGraph {
    struct Work { // a call, with what is cleared for it
        size_t layer = 0;
        std::vector<size_t> touches, writes; // values
    };
    std::vector<LayerTimes> layers;
    std::vector<double> bytes;           // of each value
    std::vector<size_t> inputs, outputs; // values that lie with the CPU before and behind the run
    std::vector<Work> work;
};

struct Assignment {
    std::vector<bool> cpu_layers; // by layer
    double time = 0;                // µs of a run, by these figures
    // Every assignment was weighed: so it is unless more than a few thousand ways to stand between two calls, places
    // of the values alive and sides of the layers under way, differ; then the cheapest of them went on.
    bool exact = true;
};

// Those of a planned run, its moves left out; `layers`: their names, in the order of the numbers. The times are not set.
TransferGraph crossings_of(const EntryPlan &plan, std::vector<std::string> &layers);

// By dynamic programming over the calls in their order.
Assignment cheapest(const TransferGraph &crossings, const MoveTimes &moves, size_t most_ways = 4096);

// What one assignment costs by the same figures.
double time_of(const TransferGraph &crossings, const MoveTimes &moves, const std::vector<bool> &cpu_layers);

} // namespace longwave::compiler
