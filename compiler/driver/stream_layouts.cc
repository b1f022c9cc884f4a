#include "compiler/driver/stream_layouts.h"
#include "compiler/codegen/capabilities.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/stream_family.h"
#include <algorithm>

namespace longwave::compiler {
namespace {

// Without any such op no value would gain.
bool any_keeps_channels(const ir::Graph &graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node &node) {
        return node.op->keeps_channels && node.op->keeps_channels(graph, node);
    });
}

} // namespace

Expected<ChannelMajorRuns> stream_layouts(const Graphs &graphs, const Request &request,
                                          const Options &options, const KernelCacheOptions &kernels) {
    ChannelMajorRuns layouts;
    if (!graphs.stream || !any_keeps_channels(*graphs.stream)) return layouts;
    const ir::Graph &stream = *graphs.stream;
    const std::vector<uint32_t> blocks =
        options.blocks.empty() ? std::vector{natural_block(stream)} : options.blocks;
    LW_TRY(check_blocks(stream, blocks));
    Storage storage(Storage::Weights::counted);
    LW_ASSIGN(const StreamFamily draft,
              plan_streams(stream, blocks, options.convolution, storage, request.tuning.costs(),
                           {&devices::host()}, {.draft = true}));
    devices::Traits on_target = devices::host();
    on_target.target = &request.targets.cpus.front(); // all of them give the same answers
    Capabilities known;
    LW_TRY(query_capabilities(known, kernels_of(devices::host(), draft.entries), on_target, kernels));
    for (const EntryPlan &entry : draft.entries)
        layouts[entry.block] = find_layouts(entry, known.signatures).channel_major;
    return layouts;
}

} // namespace longwave::compiler
