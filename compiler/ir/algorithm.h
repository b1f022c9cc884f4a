// One way to compute an op that has several: when it applies, what it costs, how far it looks back, and how it is
// planned. An algorithm is one file and one line in its op's list. The planner takes the cheapest that applies.
#pragma once
#include "compiler/devices/traits.h"
#include "compiler/ir/costs.h"
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::ir {

class KernelCall; // kernel_call.h

// Where an op stands.
struct PlanContext {
    const Graph &graph;
    const Node &node;
    uint32_t rows = 0; // new rows of the first input: the whole sequence, or one block of a stream
    bool streaming = false;
    uint32_t alike =
        1; // nodes of this op in the graph: what all of them walk over decides which cache it is in
    uint32_t before = 0;                            // of these, how many stand before this one
    const compiler::costs::Tables *costs = nullptr; // what estimates rest on; never null in the planner
    const devices::Traits &device;                  // that the call is planned for

    const Type &type(size_t input) const { return graph.type(node.inputs[input]); }
};

// What an algorithm has decided, by name: for its own planning, and for the report.
class Decisions {
public:
    void put(const char *name, uint32_t value) { list_.emplace_back(name, value); }
    uint32_t at(const std::string &name) const; // 0 when it was not put
    const std::vector<std::pair<std::string, uint32_t>> &list() const { return list_; }

private:
    std::vector<std::pair<std::string, uint32_t>> list_;
};

struct Estimate {
    std::string refused; // why it does not apply here; empty when it does
    double cost = 0;     // ns an output element on one thread; only ratios matter
    Decisions figures;
};

// What the first input's ring must hold for it.
struct Reach {
    uint32_t history = 0;  // older rows
    uint32_t multiple = 1; // the ring is a whole number of these
};

struct Algorithm {
    const char *name;
    // The kernel families that compute it, for offline runs and for streams. The planner offers an
    // algorithm to a device that has one of them. A stream call on a GPU is one dispatch.
    devices::KernelSets offline = devices::cpu_kernels, stream = devices::all_kernels;
    Estimate (*estimate)(const PlanContext &context);
    Reach (*reach)(const PlanContext &context,
                   const Decisions &figures) = nullptr; // null: as the op's stream rule says
    Status (*plan)(KernelCall &call);
    // What its estimate reads of PlanContext::costs, unless another algorithm names the table.
    std::span<const compiler::costs::CostTable *const> costs = {};
};

} // namespace longwave::ir
