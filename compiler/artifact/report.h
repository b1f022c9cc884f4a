// The compile report as JSON: the kernels of every layer, memory, and the chosen algorithms.
// docs/architecture.md lists its keys.
#pragma once
#include "compiler/artifact/emit.h"
#include "compiler/artifact/golden.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "compiler/placement/placement.h"
#include "compiler/plan/entry_planner.h"
#include <nlohmann/json.hpp>

namespace longwave::compiler {

struct ReportInputs {
    const package::Package &package;
    const ir::Graph &graph;
    const std::vector<EntryPlan> &entries;
    const std::vector<std::pair<std::string, AlgorithmReport>> &algorithms; // entry name, choice
    const Storage &storage;
    const StateRecord &record;
    const std::vector<schedules::Signature> &signatures; // of the specifications, in their order
    const std::vector<std::string> &specs;
    const std::vector<TargetCode> &code;
    const Precision &precision;
    size_t kernels = 0;
    std::string no_stream; // why the model has no stream entry; empty when it has or was not asked for
    const std::vector<StoredWeights> &stored; // weights and taps that were rounded
    const std::vector<double> &changes;       // of the outputs by that, relative to their peaks
    const LookBack &reach;
    const GoldenVectors &golden;
};

nlohmann::ordered_json make_report(const ReportInputs &inputs);

struct DeviceReportInputs {
    const devices::Traits &device;
    const std::vector<EntryPlan> &entries;
    const Placed &placed;
    const std::string &no_run, &no_stream;           // why it has no such entries
    size_t kernels = 0, bytes = 0;                   // of its code
    const std::map<std::string, size_t> &dispatches; // by entry
    const std::string &measured_device; // whose costs the choices rest on; empty: they are assumed
};
// Entries and code of the device. Where layers were placed: the device of each layer and the
// transfers.
nlohmann::ordered_json device_report(const DeviceReportInputs &inputs);

nlohmann::ordered_json make_certificates(const ir::Graph &graph);

} // namespace longwave::compiler
