// Chooses the device of each layer of a mixed run by measured times. Transfers are counted as
// add_transfers (plan/transfers.h) makes them.
#pragma once
#include "compiler/plan/entry_plan.h"
#include <limits>
#include <string>
#include <vector>

namespace longwave::compiler {

// us per run. Infinite: the device cannot compute the layer.
struct LayerTimes {
    double cpu = 0, device = 0;
};
inline constexpr double never = std::numeric_limits<double>::infinity();

// Measured on a device and its link.
struct TransferTimes {
    double submission = 0; // us to submit one device segment and to wait for it, whatever it computes
    double byte = 0;       // us per byte
    double transfer = 0;   // us per transfer, whatever its size
};

// Layers, values and calls of a run in the order of the plan, as numbers from 0.
struct TransferGraph {
    struct Work { // a call, with the clears before it
        size_t layer = 0;
        std::vector<size_t> touches, writes; // values
    };
    std::vector<LayerTimes> layers;
    std::vector<double> bytes;           // of each value
    std::vector<size_t> inputs, outputs; // values that lie on the CPU before and after the run
    std::vector<Work> work;
};

struct Assignment {
    std::vector<bool> cpu_layers; // by layer
    double time = 0;              // us per run, by these figures
    // No assignment takes less time. The search is exhaustive up to `most_states` states between
    // two calls, and a beam search beyond.
    bool exact = true;
};

// The graph of a planned run without its transfers. `layers`: their names, in the order of the
// numbers. The caller sets the times.
TransferGraph transfer_graph_of(const EntryPlan &plan, std::vector<std::string> &layers);

// Dynamic programming over the calls in their order.
Assignment cheapest(const TransferGraph &graph, const TransferTimes &times, size_t most_states = 4096);

// The time of one assignment by the same figures.
double time_of(const TransferGraph &graph, const TransferTimes &times, const std::vector<bool> &cpu_layers);

} // namespace longwave::compiler
