#include "compiler/plan/fuse_regions.h"
#include "compiler/ir/op.h"
#include "schedules/contract/kernel.h"
#include <algorithm>

namespace longwave::compiler {

namespace {

// The one node that reads v, or none.
const ir::Node *only_reader(const ir::Graph &graph, ir::ValueId v) {
    if (graph.uses(v) != 1) return nullptr;
    for (const auto &node : graph.nodes)
        for (auto input : node.inputs)
            if (input == v) return &node;
    return nullptr; // a graph output reads it
}

bool absorbs_producer(const ir::Graph &graph, const ir::Node &node, size_t input) {
    const ir::Node *producer = graph.producer(node.inputs[input]);
    return producer && node.op->absorb_producer && node.op->absorb_producer(node, input, *producer);
}

// Every reader of v absorbs its producer, so nobody reads the rows of v.
bool absorbed(const ir::Graph &graph, ir::ValueId v) {
    size_t absorbing = 0;
    for (const auto &node : graph.nodes)
        for (size_t i = 0; i < node.inputs.size(); i++)
            if (node.inputs[i] == v) absorbing += absorbs_producer(graph, node, i);
    return absorbing > 0 && absorbing == graph.uses(v);
}

size_t index_of(const ir::Graph &graph, const ir::Node *node) {
    return static_cast<size_t>(node - graph.nodes.data());
}

// Elementwise on the stored row: the value must come first, except for commutative ops.
bool continues(const ir::Graph &graph, const ir::Node &node, ir::ValueId value) {
    if (node.op->pointwise == ir::Pointwise::no) return false;
    bool commutes = node.op->pointwise == ir::Pointwise::with_rows;
    if (node.inputs[0] != value && !commutes) return false;
    if (commutes && node.inputs[0] == node.inputs[1]) return false;
    return graph.type(node.output).dims == graph.type(value).dims;
}

// A transform writes tiles of 16 channels: operands with rows would need the same tiling, and where
// the last tile has padding lanes nothing may move zero.
bool fits_channel_tiles(const ir::Graph &graph, const ir::Node &node) {
    const ir::OpDef &op = *node.op;
    const bool padding = graph.type(node.output).dims.back() % schedules::lanes != 0;
    const bool reads_rows =
        op.pointwise == ir::Pointwise::with_rows || op.pointwise == ir::Pointwise::behind_first;
    return !reads_rows && !(op.nonzero_at_zero && padding);
}

} // namespace

std::vector<const ir::Node *> nodes_of(const ir::Graph &graph, const Region &region) {
    std::vector<const ir::Node *> nodes{&graph.nodes[region.anchor]};
    for (const ir::Node *other : {region.producer, region.consumer})
        if (other) nodes.push_back(other);
    for (const size_t node : region.epilogue)
        if (node != region.anchor) nodes.push_back(&graph.nodes[node]);
    return nodes;
}

std::vector<Region> fuse_regions(const ir::Graph &graph, const std::set<std::string> &apart) {
    std::vector<Region> regions;
    std::vector<bool> taken(graph.nodes.size(), false);
    for (size_t i = 0; i < graph.nodes.size(); i++) {
        const ir::Node &node = graph.nodes[i];
        if (taken[i]) continue;
        if (absorbed(graph, node.output)) continue;
        Region region{
            .anchor = i, .pointwise = node.op->pointwise != ir::Pointwise::no, .output = node.output};
        // Another reader may want the rows of the producer all the same: it then has a kernel as well.
        if (!node.inputs.empty() && absorbs_producer(graph, node, 0))
            region.producer = graph.producer(node.inputs[0]);
        if (region.pointwise) region.epilogue.push_back(i);
        if (node.op->absorb_consumer)
            if (auto *reader = only_reader(graph, node.output);
                reader && node.op->absorb_consumer(node, *reader)) {
                region.consumer = reader;
                region.output = reader->output;
                taken[index_of(graph, reader)] = true;
            }
        while (auto *reader = node.op->no_epilogue ? nullptr : only_reader(graph, region.output)) {
            size_t next = index_of(graph, reader);
            if (taken[next] || !continues(graph, *reader, region.output) ||
                apart.contains(reader->layer) != apart.contains(node.layer) ||
                (node.op->channel_tiles && !fits_channel_tiles(graph, *reader)))
                break;
            taken[next] = true;
            region.epilogue.push_back(next);
            region.output = reader->output;
        }
        regions.push_back(std::move(region));
    }
    // An operand of an epilogue may be made after the anchor: a region runs where its last node
    // stands.
    auto position = [](const Region &r) {
        return r.epilogue.empty() ? r.anchor : std::max(r.anchor, r.epilogue.back());
    };
    std::stable_sort(regions.begin(), regions.end(),
                     [&](const Region &a, const Region &b) { return position(a) < position(b); });
    return regions;
}

} // namespace longwave::compiler
