// Groups nodes into regions, one kernel each: an anchor and the pointwise ops behind it, applied while its
// results are still in registers. Why here: Halide fuses inside a kernel; which nodes share one is decided on
// the graph, where uses are known. Needs: a verified graph. Keeps: node order; a value with two readers, or a
// graph output, is always stored. `apart`: layers that another
// device computes; no pointwise op is applied across that line, while views and gates go with what they are part of.
// Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include <set>
#include <string>

namespace longwave::compiler {

struct Region {
    size_t anchor =
        0; // node index; a region of pointwise ops alone starts with its first one, applied to a plain copy
    bool pointwise = false;         // the anchor itself is the first epilogue op
    bool view = false;              // the anchor reads through the view before it (OpDef::view)
    const ir::Node *gate = nullptr; // behind the anchor, part of its kernel (OpDef::takes_gate)
    std::vector<size_t> epilogue;   // node indices in order
    ir::ValueId output = 0;
};

std::vector<Region> fuse_regions(const ir::Graph &graph, const std::set<std::string> &apart = {});

} // namespace longwave::compiler
