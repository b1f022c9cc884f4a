#include "compiler/passes/merge_chains.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/support/compare.h"
#include "compiler/passes/branch.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

// Taps of the shorter one: what is saved is a short convolution, and its product with a long kernel
// takes no time to speak of.
constexpr size_t longest_short = 128;

struct Chain {
    ir::Filter first, second, both;
    const ir::OpDef *written = nullptr;
    ir::ValueId x = 0;
    std::string layer; // of the longer one
};

// The filter that computes `value` and the filter before it as one filter; empty if they stay
// apart.
std::optional<Chain> chain_of(const ir::Graph &graph, ir::ValueId value) {
    const ir::Node *second = graph.producer(value);
    if (!is_filter(graph, second)) return {};
    const ir::Node *first = graph.producer(second->inputs[0]);
    if (!is_filter(graph, first)) return {};
    const auto g = first->op->rewrites.filter->read(graph, *first),
               k = second->op->rewrites.filter->read(graph, *second);
    if (!g || !k || std::min(g->longest(), k->longest()) > longest_short) return {};
    auto both = k->after(*g);
    if (!both) return {};
    Chain chain{.first = *g, .second = *k, .both = *std::move(both)};
    chain.x = first->inputs[0];
    chain.written = second->op->rewrites.filter->any ? second->op : first->op;
    if (first->op != second->op && !chain.written->rewrites.filter->any) return {};
    chain.layer = g->longest() > k->longest() ? first->layer : second->layer;
    return chain;
}

Expected<ir::ValueId> write_chain(ir::Rewriter &rewrite, const ir::Graph &from, const Chain &chain,
                                  ir::ValueId kept) {
    ir::Builder &to = rewrite.to();
    LW_ASSIGN(const ir::ValueId made,
              chain.written->rewrites.filter->write(rewrite, from, chain.x, chain.both, chain.layer));
    LW_ASSIGN(const ir::Graph before, ir::excerpt(to.graph(), chain.x, {kept}));
    LW_ASSIGN(const ir::Graph after, ir::excerpt(to.graph(), chain.x, {made}));
    const size_t taps = chain.both.longest(), products = 2 * taps * chain.both.rows();
    const size_t nonzero = std::max<size_t>(4, (size_t{1} << 26) / products); // bounds the work of the re-run
    const std::string what =
        fmt::format("{} behind {} → {} taps", chain.second.longest(), chain.first.longest(), taps);
    LW_ASSIGN(ir::Certificate certificate,
              ir::certify("merge_chains", chain.layer, what, before, after, taps + 8, nonzero));
    to.certificate(std::move(certificate));
    return made;
}

} // namespace

Expected<ir::Graph> merge_chains(const ir::Graph &graph) {
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ir::ValueId> {
        LW_ASSIGN(const ir::ValueId kept, rewrite.keep(node));
        if (!is_filter(graph, &node) || graph.uses(node.inputs[0]) != 1) return kept;
        const auto chain = chain_of(rewrite.to().graph(), kept);
        return chain ? write_chain(rewrite, graph, *chain, kept) : Expected<ir::ValueId>(kept);
    });
}

} // namespace longwave::compiler
