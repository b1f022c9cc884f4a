#include "compiler/placement/placement.h"
#include "compiler/plan/fuse_regions.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

// All nodes of a region but its anchor.
std::vector<const ir::Node *> others(const ir::Graph &graph, const Region &region) {
    std::vector<const ir::Node *> nodes;
    if (region.producer) nodes.push_back(region.producer);
    if (region.consumer) nodes.push_back(region.consumer);
    for (const size_t index : region.epilogue)
        if (index != region.anchor) nodes.push_back(&graph.nodes[index]);
    return nodes;
}

std::set<std::string> with_kernels(const ir::Graph &graph, const std::vector<Region> &regions) {
    std::set<std::string> layers;
    for (const Region &region : regions) layers.insert(graph.nodes[region.anchor].layer);
    return layers;
}

} // namespace

std::map<std::string, std::string> fused_into(const ir::Graph &graph) {
    const std::vector<Region> regions = fuse_regions(graph);
    const std::set<std::string> leading = with_kernels(graph, regions);
    std::map<std::string, std::string> found;
    for (const Region &region : regions)
        for (const ir::Node *node : others(graph, region))
            if (!leading.contains(node->layer)) found.emplace(node->layer, graph.nodes[region.anchor].layer);
    return found;
}

bool place(CpuLayers &placed, const std::map<std::string, std::string> &layers,
           const std::map<std::string, std::string> &fused_into) {
    bool added = false;
    for (const auto &[layer, why] : layers) added = placed.emplace(layer, why).second || added;
    for (const auto &[layer, leader] : fused_into)
        if (layers.contains(leader))
            added = placed.emplace(layer, fmt::format("computed with layer {}", leader)).second || added;
    return added;
}

Status place_measured(Placed &placed, const EntryPlan &plan, const MeasuredLayers &measured,
                      const std::map<std::string, std::string> &fused_into) {
    std::vector<std::string> names;
    TransferGraph graph = transfer_graph_of(plan, names);
    for (size_t i = 0; i < names.size(); i++) {
        const auto found = measured.layers.find(names[i]);
        if (found == measured.layers.end())
            return Status::input(
                fmt::format("no time of layer {}: the file belongs to another model or to another compile "
                            "of it: measure again",
                            names[i]));
        graph.layers[i] = found->second;
        if (placed.cpu_layers.contains(names[i])) graph.layers[i].device = never;
        placed.times[names[i]] = graph.layers[i];
    }
    const Assignment best = cheapest(graph, measured.transfers);
    std::map<std::string, std::string> chosen;
    for (size_t i = 0; i < names.size(); i++) {
        const LayerTimes &times = graph.layers[i];
        if (best.cpu_layers[i])
            chosen[names[i]] = fmt::format("{:.0f} µs here, {:.0f} there{}", times.cpu, times.device,
                                           times.cpu > times.device ? ", and what would be moved" : "");
    }
    place(placed.cpu_layers, chosen, fused_into);
    placed.time = best.time;
    placed.exact = best.exact;
    placed.device = time_of(graph, measured.transfers, std::vector<bool>(names.size(), false));
    placed.cpu = time_of(graph, measured.transfers, std::vector<bool>(names.size(), true));
    placed.measured = measured.made;
    return Status::ok();
}

std::set<std::string> names_of(const CpuLayers &placed) {
    std::set<std::string> names;
    for (const auto &[layer, why] : placed) names.insert(layer);
    return names;
}

Status check_placement(const Placement &placement, const ir::Graph &graph) {
    std::set<std::string> known;
    for (const ir::Node &node : graph.nodes) known.insert(node.layer);
    const std::set<std::string> leading = with_kernels(graph, fuse_regions(graph, placement.cpu_layers));
    for (const std::string &layer : placement.cpu_layers) {
        if (!known.contains(layer))
            return Status::usage(fmt::format("--place {}=cpu: the model has no layer of that name once it is "
                                             "lowered; its layers: {}",
                                             layer, fmt::join(known, ", ")));
        if (!leading.contains(layer))
            return Status::usage(
                fmt::format("--place {}=cpu: the layer has no kernel of its own: place the layer "
                            "that computes it",
                            layer));
    }
    return Status::ok();
}

} // namespace longwave::compiler
