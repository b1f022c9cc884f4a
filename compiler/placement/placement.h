// Where the layers of whole sequences run in an artifact for a GPU: on it, or on the CPU beside it. Streams run on
// one device.
#pragma once
#include "compiler/plan/options.h"
#include "compiler/ir/graph.h"
#include "compiler/placement/layer_times.h"
#include "compiler/plan/entry_plan.h"
#include "formats/base/expected.h"
#include <map>
#include <set>
#include <string>

namespace longwave::compiler {

// The layers that are the CPU's, each with the reason.
using CpuLayers = std::map<std::string, std::string>;

// A layer whose ops are all computed in kernels of another goes where that one goes.
std::map<std::string, std::string> fused_into(const ir::Graph &graph); // the layer and the one that it follows

// Layers and what follows them; a layer that has been placed stays as it is. True: something was added.
bool place(CpuLayers &placed, const std::map<std::string, std::string> &layers,
           const std::map<std::string, std::string> &fused_into);

// What is known of a placement, for the report.
struct Placed {
    CpuLayers cpu_layers;
    std::map<std::string, LayerTimes> times; // where they were measured: of every layer with a kernel
    // By these, µs of a run: as placed, all on the device (never: some layer does not run there), all on the CPU.
    double time = 0, device = 0, cpu = 0;
    bool exact = true;    // no other placement takes less
    std::string measured; // on what; empty: it was not
};

// By measured times; `plan` is one of a GPU, with those layers on the CPU that have to be. Layers that come to be
// the CPU's get a reason. Fault::input: the file has no time of a layer.
Status place_measured(Placed &placed, const EntryPlan &plan, const MeasuredLayers &measured,
                      const std::map<std::string, std::string> &fused_into);

std::set<std::string> names_of(const CpuLayers &placed);

// Fault::usage for a name that is no layer's of the graph, or of one that has no kernel of its own whoever computes it.
Status check_placement(const Placement &placement, const ir::Graph &graph);

} // namespace longwave::compiler
