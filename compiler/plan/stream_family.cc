#include "compiler/plan/stream_family.h"
#include "compiler/ir/op.h"
#include "compiler/plan/rounding.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace longwave::compiler {

namespace {

// How the state names the history of a value: by the first op that needs it, so that a change of
// what computes the value changes no name. Inputs that no op looks back on only hold pending
// samples.
std::pair<std::string, std::string> field_name(const ir::Graph &graph, ir::ValueId value,
                                               const Demand &demand, std::set<std::string> &taken) {
    const ir::Node *node = graph.producer(value);
    const bool needed = !demand.name.empty();
    const std::string layer = needed ? demand.layer
                              : node ? node->layer
                                     : "input " + graph.inputs[graph.values[value].index].name;
    std::string name = needed ? demand.name : node ? node->op->name : "samples", full = name;
    for (int i = 2; !taken.insert(fmt::format("{}/{}", layer, full)).second; i++)
        full = fmt::format("{} {}", name, i);
    return {layer, full};
}

// What all entries together want of the ring of a value.
struct Wanted {
    bool ring = false;
    uint32_t history = 0, rows = 1, multiple = 1;
    Demand saved; // needs, keeps and name
};

Wanted wanted_of(const ir::Graph &graph, const std::vector<EntryPlanner> &planners, ir::ValueId v) {
    // Pushed samples wait in the ring of their input until a block is complete.
    Wanted wanted{.ring = graph.values[v].kind == ir::Value::Kind::input};
    for (const EntryPlanner &planner : planners) {
        const Demand &d = planner.demands()[v];
        wanted.ring = wanted.ring || round_up(d.history + d.rows, d.multiple) > planner.rows_of(v);
        wanted.history = std::max(wanted.history, d.history);
        wanted.rows = std::max(wanted.rows, d.rows);
        wanted.multiple = std::lcm(wanted.multiple, d.multiple);
        wanted.saved.needs = std::max(wanted.saved.needs, d.needs);
        wanted.saved.keeps = std::max(wanted.saved.keeps, d.keeps);
        if (wanted.saved.name.empty()) wanted.saved.layer = d.layer, wanted.saved.name = d.name;
    }
    return wanted;
}

// The rings of inputs, and of values of which any entry needs rows from before its own block.
std::vector<Ring> lay_out_rings(const ir::Graph &graph, const std::vector<EntryPlanner> &planners,
                                StateRecord &record) {
    std::vector<Ring> rings(graph.values.size());
    std::set<std::string> taken;
    for (ir::ValueId v = 0; v < graph.values.size(); v++) {
        if (graph.constant(v) || !planners[0].stores(v)) continue;
        const Wanted wanted = wanted_of(graph, planners, v);
        if (!wanted.ring) continue;
        // Pushed samples may run ahead by a block while the runtime rebuilds caches from the rows
        // before the last complete block.
        const uint32_t ahead = planners.size() > 1 && wanted.history > 0 ? 2 * wanted.rows : wanted.rows;
        const ir::Type &type = graph.type(v);
        const auto [layer, name] = field_name(graph, v, wanted.saved, taken);
        rings[v].rows = round_up(wanted.history + ahead, wanted.multiple);
        rings[v].field = record.history({.layer = layer,
                                         .name = name,
                                         .elem = type.elem,
                                         .dims = {rings[v].rows, type.row()},
                                         .clock = type.clock,
                                         .needs = wanted.saved.needs,
                                         .keeps = wanted.saved.keeps});
    }
    return rings;
}

} // namespace

Expected<StreamFamily> plan_streams(const ir::Graph &graph, const std::vector<uint32_t> &blocks,
                                    const std::string &convolution, Storage &storage,
                                    const costs::Tables &costs,
                                    const std::vector<const devices::Traits *> &devices, bool draft) {
    StreamFamily family;
    std::vector<EntryPlanner> planners;
    const size_t entries = devices.size() * blocks.size();
    planners.reserve(entries);
    for (const devices::Traits *device : devices)
        for (uint32_t block : blocks) {
            const EntryPlanner::Options options{.kind = EntryPlan::Kind::stream,
                                                .block = block,
                                                .convolution = convolution,
                                                .costs = &costs,
                                                .device = device,
                                                .draft = draft};
            planners.emplace_back(graph, options, storage, family.record);
            LW_TRY(planners.back().survey());
        }
    const std::vector<Ring> rings = lay_out_rings(graph, planners, family.record);
    // Every planner has its part in the rings. A draft needs the calls of the last device alone.
    const size_t first = draft ? entries - blocks.size() : 0;
    for (size_t i = first; i < entries; i++) {
        EntryPlanner &planner = planners[i];
        LW_ASSIGN(EntryPlan entry, planner.plan(rings));
        for (const AlgorithmReport &report : planner.algorithms())
            family.algorithms.emplace_back(entry.name(), report);
        family.refused.insert(planner.refused().begin(), planner.refused().end());
        family.entries.push_back(std::move(entry));
    }
    family.record.arrange();
    return family;
}

} // namespace longwave::compiler
