#include "compiler/driver/layouts.h"
#include "compiler/codegen/capabilities.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/reorder_values.h"
#include "compiler/plan/channel_major.h"
#include <algorithm>

namespace longwave::compiler {

namespace {

// The nodes of these regions that read the value.
std::set<size_t> nodes_that_read(const ir::Graph &graph, const std::vector<Region> &regions,
                                 const Reorder &reorder) {
    const auto value = static_cast<ir::ValueId>(reorder.value);
    std::set<size_t> readers;
    for (const Region &region : regions) {
        if (!reorder.readers.contains(static_cast<int>(region.anchor))) continue;
        for (const ir::Node *node : nodes_of(graph, region))
            if (std::count(node->inputs.begin(), node->inputs.end(), value))
                readers.insert(static_cast<size_t>(node - graph.nodes.data()));
    }
    return readers;
}

Expected<ir::Graph> with_copies(const ir::Graph &graph, const std::vector<Reorder> &reorders) {
    const std::vector<Region> regions = fuse_regions(graph);
    std::vector<ValueCopy> copies;
    for (const Reorder &one : reorders)
        copies.push_back(
            {static_cast<ir::ValueId>(one.value), nodes_that_read(graph, regions, one), one.output});
    LW_ASSIGN(ir::Graph made, reorder_values(graph, copies));
    LW_TRY(ir::verify(made));
    return made;
}

} // namespace

Status choose_layouts(DeviceEntries &device, Capabilities &known, const std::vector<EntryPlan> &draft,
                      const Graphs &graphs, const Tuning &tuning, const Options &options,
                      const KernelCacheOptions &kernels) {
    // Values that cross between the devices lie row by row, and so do windows of a stream.
    if (!device.cpu_layers.empty() || options.window != 0) return Status::ok();
    const costs::DeviceCosts &costs = tuning.costs().device;
    const LayoutOptions free{.clears_tails = options.gpu_storage == "f32",
                             .dispatch_bytes = costs.ns_per_dispatch * costs.bytes_per_ns};
    for (const EntryPlan &entry : draft) {
        if (entry.kind != EntryPlan::Kind::run) continue;
        ValueLayouts layouts = find_layouts(entry, known.signatures, free);
        device.channel_major[entry.block] = std::move(layouts.channel_major);
        if (layouts.reorders.empty()) continue;
        LW_ASSIGN(device.reordered[entry.block], with_copies(graphs.offline, layouts.reorders));
    }
    if (device.reordered.empty()) return Status::ok();

    // The copies are values like others now, and each kernel reads the one that it can.
    LayoutOptions as_it_is = free;
    as_it_is.dispatch_bytes.reset();
    DeviceEntries runs = device;
    runs.streams = false;
    runs.channel_major.clear();
    LW_ASSIGN(const Draft again, draft_entries(graphs, runs, tuning, options));
    LW_TRY(query_capabilities(known, kernels_of(*device.device, again.entries), *device.device, kernels));
    for (const EntryPlan &entry : again.entries)
        if (device.reordered.contains(entry.block))
            device.channel_major[entry.block] = find_layouts(entry, known.signatures, as_it_is).channel_major;
    return Status::ok();
}

} // namespace longwave::compiler
