// Where the layers of an offline run are computed: on the device, or on the CPU. A stream runs on
// one device.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/placement/layer_times.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/options.h"
#include "formats/base/expected.h"
#include <map>
#include <set>
#include <string>

namespace longwave::compiler {

// The layers that the CPU computes, each with the reason.
using CpuLayers = std::map<std::string, std::string>;

// A layer without a kernel of its own is computed with another layer and follows it.
std::map<std::string, std::string> fused_into(const ir::Graph &graph); // layer, the layer that it follows

// Moves these layers, and those that follow them, to the CPU. A layer that is there keeps its
// reason. Returns whether it moved any.
bool place(CpuLayers &placed, const std::map<std::string, std::string> &layers,
           const std::map<std::string, std::string> &fused_into);

// A placement, for the report.
struct Placed {
    CpuLayers cpu_layers;
    std::map<std::string, LayerTimes> times; // measured: of every layer with a kernel
    // us per run by these times: as placed, all on the device (never: a layer does not run there),
    // all on the CPU.
    double time = 0, device = 0, cpu = 0;
    bool exact = true;    // no other placement takes less time
    std::string measured; // the machine of the times; empty: none were measured
};

// Places layers by measured times. `plan` is a run of the device with the layers on the CPU that
// the device cannot compute. Fault::input: the file has no time of a layer.
Status place_measured(Placed &placed, const EntryPlan &plan, const MeasuredLayers &measured,
                      const std::map<std::string, std::string> &fused_into);

std::set<std::string> names_of(const CpuLayers &placed);

// Fault::usage for a name that is not a layer of the graph, and for a layer without a kernel of its
// own.
Status check_placement(const Placement &placement, const ir::Graph &graph);

} // namespace longwave::compiler
