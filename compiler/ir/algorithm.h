// One way to compute an op that has several: when it applies, what it costs, how far it looks back,
// and how it is planned. An algorithm is one file and one line in its op's list. The planner takes
// the cheapest that applies.
#pragma once
#include "compiler/devices/traits.h"
#include "compiler/ir/costs.h"
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::ir {

class KernelCall; // kernel_call.h

// The place of an op in a plan.
struct PlanContext {
    const Graph &graph;
    const Node &node;
    uint32_t rows = 0; // new rows of the first input: those of the offline run, or of one block of a stream
    bool streaming = false;
    uint32_t alike =
        1; // nodes of this op in the graph: what all of them walk over decides which cache it is in
    uint32_t before = 0;                            // of these, how many stand before this one
    const compiler::costs::Tables *costs = nullptr; // what estimates rest on; never null in the planner
    const devices::Traits &device;                  // that the call is planned for

    const Type &type(size_t input) const { return graph.type(node.inputs[input]); }
};

// The decisions of an algorithm by name, for its own planning and for the report.
class Decisions {
public:
    void put(const char *name, uint32_t value) { list_.emplace_back(name, value); }
    uint32_t at(const std::string &name) const; // 0 if it was not put
    const std::vector<std::pair<std::string, uint32_t>> &list() const { return list_; }

private:
    std::vector<std::pair<std::string, uint32_t>> list_;
};

struct Estimate {
    std::string refused; // why it does not apply here; empty: it applies
    double cost = 0;     // ns per output element on one thread; only ratios matter
    Decisions decisions;
};

// The demands of an algorithm on the ring of its first input.
struct Reach {
    uint32_t history = 0;  // older rows
    uint32_t multiple = 1; // the length of the ring is a multiple of this
};

struct Algorithm {
    const char *name;
    // The kernel families that compute it, for offline runs and for streams. The planner offers an
    // algorithm to a device that has one of them. A stream call on a GPU is one dispatch.
    devices::KernelSets offline = devices::cpu_kernels, stream = devices::all_kernels;
    Estimate (*estimate)(const PlanContext &context);
    Reach (*reach)(const PlanContext &context,
                   const Decisions &decisions) = nullptr; // null: the history of the op's stream rule
    Status (*plan)(KernelCall &call);
    // What its estimate reads of PlanContext::costs, unless another algorithm names the table.
    std::span<const compiler::costs::CostTable *const> costs = {};
};

} // namespace longwave::ir
