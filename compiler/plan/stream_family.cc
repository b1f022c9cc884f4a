#include "compiler/plan/stream_family.h"
#include "compiler/ir/op.h"
#include "compiler/plan/rounding.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace longwave::compiler {

namespace {

// Layer and name of the value in the record, different for every value.
std::pair<std::string, std::string> field_name(const ir::Graph &graph, ir::ValueId value,
                                               std::set<std::string> &taken) {
    const ir::Node *node = graph.producer(value);
    const std::string layer = node ? node->layer : "input " + graph.inputs[graph.values[value].index].name;
    std::string name = node ? std::string(node->op->name) : "samples", full = name;
    for (int i = 2; !taken.insert(fmt::format("{}/{}", layer, full)).second; i++)
        full = fmt::format("{} {}", name, i);
    return {layer, full};
}

// A value lies in the record when it is an input, for pushed samples wait there until their block is
// complete, or when any entry needs rows of it from before its own block.
std::vector<Ring> lay_out_rings(const ir::Graph &graph, const std::vector<EntryPlanner> &planners,
                                StateRecord &record) {
    std::vector<Ring> rings(graph.values.size());
    std::set<std::string> taken;
    for (ir::ValueId v = 0; v < graph.values.size(); v++) {
        if (graph.constant(v) || !planners[0].stores(v)) continue;
        bool kept = graph.values[v].kind == ir::Value::Kind::input;
        uint32_t history = 0, rows = 1, multiple = 1;
        for (const EntryPlanner &planner : planners) {
            const Demand &d = planner.demands()[v];
            kept = kept || round_up(d.history + d.rows, d.multiple) > planner.rows_of(v);
            history = std::max(history, d.history);
            rows = std::max(rows, d.rows);
            multiple = std::lcm(multiple, d.multiple);
        }
        if (!kept) continue;
        // What is pushed may run ahead by a block while caches are made of the rows before the last whole
        // block.
        const uint32_t ahead = planners.size() > 1 && history > 0 ? 2 * rows : rows;
        const ir::Type &type = graph.type(v);
        const auto [layer, name] = field_name(graph, v, taken);
        rings[v].rows = round_up(history + ahead, multiple);
        rings[v].field =
            record.field(layer, name, "", StateKind::history, type.elem, {rings[v].rows, type.row()});
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
                                                .shared = entries > 1,
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
    return family;
}

} // namespace longwave::compiler
