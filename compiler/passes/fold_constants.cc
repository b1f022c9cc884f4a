#include "compiler/passes/fold_constants.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/reference.h"
#include <algorithm>

namespace longwave::compiler {

namespace {

bool foldable(const ir::Graph &graph, const ir::Node &node) {
    const std::string op = node.op->name;
    if (op == "sgconv_kernel" || op == "expand_scales") return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) { return graph.constant(id) != nullptr; });
}

} // namespace

Expected<ir::Graph> fold_constants(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([](ir::Rewriter &rewrite, const ir::Node &old) -> Expected<ir::ValueId> {
        LW_ASSIGN(const ir::ValueId kept, rewrite.keep(old));
        const ir::Graph &made = rewrite.to().graph();
        const ir::Node &node = *made.producer(kept); // its inputs are what has been folded so far
        if (!foldable(made, node)) return kept;
        return rewrite.to().constant(old.layer + "." + old.op->name, made.type(kept).dims, ir::evaluate_constant(made, node));
    });
}

} // namespace longwave::compiler
