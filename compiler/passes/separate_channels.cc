#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/compare.h"
#include "compiler/passes/passes.h"
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

Expected<ir::ValueId> separated(ir::Rewriter &rewrite, const ir::Graph &graph, const ir::Node &node) {
    if (!node.op->rewrites.separate || !ir::constants_from(graph, node, 1)) return rewrite.keep(node);
    LW_ASSIGN(const auto made, node.op->rewrites.separate(rewrite, graph, node));
    if (!made) return rewrite.keep(node);
    ir::Builder &to = rewrite.to();
    LW_ASSIGN(const ir::Graph before, ir::excerpt(graph, node.inputs[0], {node.output}));
    LW_ASSIGN(const ir::Graph after, ir::excerpt(to.graph(), rewrite.map(node.inputs[0]), {made->value}));
    const std::string what = fmt::format("{} filters of {} taps", made->filters, made->taps);
    LW_ASSIGN(ir::Certificate certificate,
              ir::certify("separate_channels", node.layer, what, before, after, made->taps + 8));
    to.certificate(std::move(certificate));
    return made->value;
}

} // namespace

Expected<ir::Graph> separate_channels(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run(
        [&](ir::Rewriter &rewrite, const ir::Node &node) { return separated(rewrite, graph, node); });
}

} // namespace longwave::compiler
