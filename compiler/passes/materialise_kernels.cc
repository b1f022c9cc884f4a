#include "compiler/passes/materialise_kernels.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include <fmt/format.h>

namespace longwave::compiler {

Expected<ir::Graph> materialise_kernels(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        if (!node.op->rewrites.materialise) return rewrite.keep(node);
        if (!ir::constants_from(graph, node, 0))
            return Status::input(
                fmt::format("layer {}: {}: expected constant parameters", node.layer, node.op->name));
        return node.op->rewrites.materialise(rewrite, graph, node);
    });
}

} // namespace longwave::compiler
