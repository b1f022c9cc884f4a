#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"

namespace longwave::compiler {

Expected<ir::Graph> split_lone(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        if (!node.op->rewrites.split) return rewrite.keep(node);
        const ir::Node *before = graph.producer(node.inputs[0]);
        const bool absorbed = before && before->op->absorb_consumer &&
                              before->op->absorb_consumer(*before, node) && graph.uses(node.inputs[0]) == 1;
        return absorbed ? rewrite.keep(node)
                        : node.op->rewrites.split(rewrite.to(), node, rewrite.map(node.inputs[0]));
    });
}

} // namespace longwave::compiler
