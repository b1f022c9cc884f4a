// The first half of planning an entry: the algorithm of each node, what is fused, and what each
// value must hold for its readers.
#include "compiler/ir/op.h"
#include "compiler/plan/entry_plan.h"
#include "compiler/plan/entry_planner.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace longwave::compiler {

Status EntryPlanner::choose_algorithms() {
    std::map<const ir::OpDef *, uint32_t> alike;
    std::map<std::pair<std::string, const ir::OpDef *>, uint32_t> in_layers;
    for (const ir::Node &node : graph_.nodes) {
        contexts_.push_back({.graph = graph_,
                             .node = node,
                             .rows = rows_of(node.inputs[0]),
                             .streaming = streaming(),
                             .before = alike[node.op]++,
                             .costs = options_.costs,
                             .device = device_of(node)});
        const uint32_t twin = in_layers[{node.layer, node.op}]++;
        suffixes_.push_back(twin ? fmt::format(" {}", twin + 1) : "");
    }
    choices_.resize(graph_.nodes.size());
    Status failed;
    for (size_t i = 0; i < graph_.nodes.size(); i++) {
        const ir::Node &node = graph_.nodes[i];
        contexts_[i].alike = alike[node.op];
        if (node.op->algorithms.empty()) continue;
        const bool forced = device_of(node).forced_algorithms;
        auto choice = choose(contexts_[i], forced ? options_.convolution : "");
        if (!choice) {
            const Status status = in_layer(node, choice.status());
            if (failed && !leaves_out(status)) failed = status;
            continue;
        }
        choices_[i] = *choice;
        const uint64_t elements = uint64_t{rows_of(node.output)} * graph_.type(node.output).width();
        reports_.push_back({node.layer, node.op->name, *choice, elements});
    }
    return failed;
}

// A value is stored when it is an input of the entry or leaves a region. Its buffer must hold, for
// every reader, the rows that reader looks back on.
void EntryPlanner::demand(const Region &region) {
    const ir::Node &anchor = graph_.nodes[region.anchor];
    const ir::Reach reach = reach_of(region);
    const ir::ValueId input = reader(region).inputs[0];
    const uint32_t rows = rows_of(anchor.output), fresh = rows_read(region, rows);
    Demand &d = demands_[input];
    d.history = std::max(d.history, reach.history);
    if (streaming()) {
        d.rows = std::max(d.rows, fresh);
        d.multiple = std::lcm(d.multiple, std::lcm(fresh, reach.multiple));
        // Rows that came before the block that completes a row of a slower output.
        const uint32_t earlier = fresh - std::min(fresh, rows_of(input));
        const uint32_t declared = history_of(reader(region)) + earlier;
        d.needs = std::max(d.needs, declared);
        d.keeps = std::max({d.keeps, declared, reach.history + earlier});
        if (declared > 0 || reach.history > 0) {
            const auto can = anchor.op->keeps_channels;
            d.remembering++;
            d.by_channel = d.by_channel && !region.producer && can && can(graph_, anchor);
        }
        if (declared > 0 && d.name.empty()) {
            const ir::Node &node = reader(region);
            d.layer = node.layer;
            d.name = node.op->name + suffixes_[static_cast<size_t>(&node - graph_.nodes.data())];
        }
        return;
    }
    // The last tile of a run may reach beyond the end, in everything that it reads row by row and
    // in what it writes.
    const uint32_t whole =
        std::max(round_up(rows, rows_of_call(rows, tiles())), round_up(rows, reach.multiple));
    const bool pooled = graph_.type(anchor.output).clock.timeless();
    const uint32_t ahead = reader(region).op->pads_itself ? 0 : rule_of(reader(region)).ahead;
    d.rows = std::max(d.rows, pooled ? rows_of(input) : rows_read(region, whole) + ahead);
    if (region.producer) {
        const ir::Node &view = reader(region);
        d.granule = static_cast<uint32_t>(
            std::gcd(uint64_t{graph_.type(view.output).width()}, uint64_t{rows_read(region, 1)}));
    }
    if (reach.multiple == 1) return;
    const auto also = [&](ir::ValueId value) {
        if (!graph_.constant(value)) demands_[value].rows = std::max(demands_[value].rows, whole);
    };
    std::for_each(anchor.inputs.begin() + 1, anchor.inputs.end(), also);
    for (size_t node : region.epilogue)
        std::for_each(graph_.nodes[node].inputs.begin(), graph_.nodes[node].inputs.end(), also);
    also(region.output);
}

Status EntryPlanner::survey() {
    LW_TRY(choose_algorithms());
    regions_ = fuse_regions(graph_, options_.cpu_layers);
    demands_.resize(graph_.values.size());
    for (const Region &region : regions_) demand(region);
    for (ir::ValueId v = 0; v < graph_.values.size(); v++) {
        demands_[v].rows = std::max(demands_[v].rows, rows_of(v));
        demands_[v].multiple = std::lcm(demands_[v].multiple, rows_of(v));
    }
    return Status::ok();
}

} // namespace longwave::compiler
