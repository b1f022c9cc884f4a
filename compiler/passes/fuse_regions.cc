#include "compiler/passes/fuse_regions.h"
#include "compiler/ops/op.h"
#include <algorithm>
#include <string_view>

namespace longwave::compiler {

namespace {

bool is(const ir::Node &node, std::string_view op) { return op == node.op->name; }

// The one node that reads v, or none.
const ir::Node *only_reader(const ir::Graph &graph, ir::ValueId v) {
    if (graph.uses(v) != 1) return nullptr;
    for (const auto &node : graph.nodes)
        for (auto input : node.inputs)
            if (input == v) return &node;
    return nullptr; // a graph output reads it
}

size_t index_of(const ir::Graph &graph, const ir::Node *node) { return static_cast<size_t>(node - graph.nodes.data()); }

// Elementwise on the stored row: the value must come first, except for commutative ops.
bool continues(const ir::Graph &graph, const ir::Node &node, ir::ValueId value) {
    if (!node.op->pointwise) return false;
    bool commutes = is(node, "add") || is(node, "mul");
    if (node.inputs[0] != value && !commutes) return false;
    if (commutes && node.inputs[0] == node.inputs[1]) return false;
    return graph.type(node.output).dims == graph.type(value).dims;
}

} // namespace

std::vector<Region> fuse_regions(const ir::Graph &graph) {
    std::vector<Region> regions;
    std::vector<bool> taken(graph.nodes.size(), false);
    for (size_t i = 0; i < graph.nodes.size(); i++) {
        const ir::Node &node = graph.nodes[i];
        if (taken[i]) continue;
        if (is(node, "expand_scales")) continue; // runs in the prepare entry
        if (is(node, "frame"))
            if (auto *reader = only_reader(graph, node.output); reader && is(*reader, "power_spectrum")) continue; // part of its reader's region
        Region region{.anchor = i, .pointwise = node.op->pointwise, .output = node.output};
        if (is(node, "power_spectrum")) {
            auto *before = graph.producer(node.inputs[0]);
            region.framed = before && is(*before, "frame") && graph.uses(node.inputs[0]) == 1;
        }
        if (region.pointwise) region.epilogue.push_back(i);
        if (is(node, "linear"))
            if (auto *reader = only_reader(graph, node.output); reader && is(*reader, "glu")) {
                region.glu = true;
                region.output = reader->output;
                taken[index_of(graph, reader)] = true;
            }
        // A tiled transform writes channel tiles; operands of rows would need the same tiling, and what makes something of zero the last lanes, so only
        // ops without operands that leave zero alone join it.
        const bool tiled = is(node, "long_conv");
        while (auto *reader = only_reader(graph, region.output)) {
            size_t next = index_of(graph, reader);
            if (taken[next] || !continues(graph, *reader, region.output)) break;
            if (tiled && (reader->inputs.size() > 1 || is(*reader, "sigmoid") || is(*reader, "log"))) break;
            taken[next] = true;
            region.epilogue.push_back(next);
            region.output = reader->output;
        }
        regions.push_back(std::move(region));
    }
    // An operand of an epilogue may be made after the anchor: a region runs where its last node stands.
    auto position = [](const Region &r) { return r.epilogue.empty() ? r.anchor : std::max(r.anchor, r.epilogue.back()); };
    std::stable_sort(regions.begin(), regions.end(), [&](const Region &a, const Region &b) { return position(a) < position(b); });
    return regions;
}

} // namespace longwave::compiler
