#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/reference.h"
#include "compiler/passes/passes.h"
#include <fmt/format.h>

namespace longwave::compiler {
namespace {

bool foldable(const ir::Graph &graph, const ir::Node &node) {
    return !node.op->rewrites.prepared && !node.op->rewrites.materialise &&
           ir::constants_from(graph, node, 0);
}

} // namespace

Expected<ir::Graph> fold_constants(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([](ir::Rewriter &rewrite, const ir::Node &old) -> Expected<ir::ValueId> {
        LW_ASSIGN(const ir::ValueId kept, rewrite.keep(old));
        const ir::Graph &made = rewrite.to().graph();
        const ir::Node &node = *made.producer(kept); // its inputs are what has been folded so far
        if (!foldable(made, node)) return kept;
        return rewrite.to().constant(old.layer + "." + old.op->name, made.type(kept).dims,
                                     ir::evaluate_constant(made, node));
    });
}

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
