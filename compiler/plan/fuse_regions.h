// Groups nodes into regions, one kernel each: an anchor and the pointwise ops behind it, applied
// while its results are still in registers. Why here: Halide fuses inside a kernel; which nodes
// share one is decided on the graph, where uses are known. Needs: a verified graph. Keeps: node
// order; a value with two readers, or a graph output, is always stored. `apart`: layers that the
// host computes in a mixed run. No pointwise op is fused across that border. Absorbed nodes go with
// the node that absorbs them. Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include <set>
#include <string>

namespace longwave::compiler {

struct Region {
    size_t anchor =
        0; // node index; a region of pointwise ops alone starts with its first one, applied to a plain copy
    bool pointwise = false; // the anchor itself is the first epilogue op
    // What the anchor's kernel absorbs: the node of its first input, and the node that reads its
    // result.
    const ir::Node *producer = nullptr, *consumer = nullptr;
    std::vector<size_t> epilogue; // node indices in order
    ir::ValueId output = 0;
};

// All nodes of a region.
std::vector<const ir::Node *> nodes_of(const ir::Graph &graph, const Region &region);

std::vector<Region> fuse_regions(const ir::Graph &graph, const std::set<std::string> &apart = {});

} // namespace longwave::compiler
