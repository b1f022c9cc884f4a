#include "compiler/passes/merge_branches.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/support/compare.h"
#include "compiler/passes/branch.h"
#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace longwave::compiler {

namespace {

using ir::ValueId;

bool adds(const ir::Node *node) { return node && node->op->rewrites.sum; }

// The values that a tree of additions sums up, and every convolution's input below them.
void terms_of(const ir::Graph &graph, ValueId value, bool root, std::vector<ValueId> &terms) {
    const ir::Node *node = graph.producer(value);
    if (!adds(node) || (!root && graph.uses(value) != 1)) return terms.push_back(value);
    for (const ValueId id : node->inputs) terms_of(graph, id, false, terms);
}

void bases_of(const ir::Graph &graph, ValueId value, std::vector<ValueId> &bases) {
    const ir::Node *node = graph.producer(value);
    if (is_filter(graph, node)) {
        if (std::find(bases.begin(), bases.end(), node->inputs[0]) == bases.end())
            bases.push_back(node->inputs[0]);
    } else if (adds(node)) {
        for (const ValueId id : node->inputs) bases_of(graph, id, bases);
    } else if (node && node->op->rewrites.channel_map) bases_of(graph, node->inputs[0], bases);
}

// One convolution in the place of some terms of a sum.
struct Merge {
    ValueId x = 0;
    std::vector<ValueId> terms;
    Branch branch;
};

// The terms on x that merge: all branches except a second kernel with prepared taps.
std::optional<Merge> merge_on(const ir::Graph &graph, ValueId x, const std::vector<ValueId> &terms,
                              bool alone) {
    std::optional<Merge> merge;
    for (const ValueId term : terms) {
        const auto branch = branch_of(graph, term, x, alone);
        if (!branch) continue;
        if (!merge) merge = Merge{x, {}, *branch};
        else if (auto both = sum(merge->branch, *branch)) merge->branch = *std::move(both);
        else continue;
        merge->terms.push_back(term);
    }
    // A norm of x alone, or x itself, is not a convolution yet.
    return merge && merge->branch.written && merge->branch.worth_writing() ? merge : std::nullopt;
}

std::vector<Merge> merges_of(const ir::Graph &graph, ValueId root, std::vector<ValueId> &rest) {
    std::vector<ValueId> bases;
    terms_of(graph, root, true, rest);
    bases_of(graph, root, bases);
    std::vector<Merge> merges;
    for (const ValueId x : bases) {
        auto merge = merge_on(graph, x, rest, rest.size() == 1);
        if (!merge) continue;
        for (const ValueId term : merge->terms) rest.erase(std::find(rest.begin(), rest.end(), term));
        merges.push_back(*std::move(merge));
    }
    return merges;
}

Expected<ValueId> emit(ir::Rewriter &rewrite, const ir::Graph &graph, const Merge &merge) {
    const Branch &branch = merge.branch;
    const ir::Filter &filter = branch.filter;
    const ValueId x = rewrite.map(merge.x);
    ir::Builder &to = rewrite.to();
    LW_ASSIGN(const ValueId y,
              branch.written->rewrites.filter->write(rewrite, graph, x, filter, branch.layer));
    LW_ASSIGN(const ir::Graph before, ir::excerpt(graph, merge.x, merge.terms));
    LW_ASSIGN(const ir::Graph after, ir::excerpt(to.graph(), x, {y}));
    const size_t products = filter.longest() * filter.rows() * merge.terms.size();
    const size_t nonzero = std::max<size_t>(4, (size_t{1} << 26) / products); // bounds the work of the re-run
    LW_ASSIGN(ir::Certificate certificate, ir::certify("merge_branches", branch.layer, branch.describe(),
                                                       before, after, filter.longest() + 8, nonzero));
    to.certificate(std::move(certificate));
    return y;
}

// Marks what a merge replaced, so that no part of it is merged again.
void cover(const ir::Graph &graph, ValueId value, ValueId x, std::set<ValueId> &covered) {
    const ir::Node *node = graph.producer(value);
    if (value == x || !node || !covered.insert(value).second || is_filter(graph, node)) return;
    cover(graph, node->inputs[0], x, covered);
    if (adds(node)) cover(graph, node->inputs[1], x, covered);
}

struct Plan {
    std::vector<Merge> merges;
    std::vector<ValueId> rest;
};

// From the outputs to the inputs, so that the largest tree is found first.
std::map<ValueId, Plan> plan(const ir::Graph &graph) {
    std::map<ValueId, Plan> plans;
    std::set<ValueId> covered;
    for (size_t n = graph.nodes.size(); n-- > 0;) {
        const ValueId root = graph.nodes[n].output;
        if (covered.count(root)) continue;
        Plan found;
        found.merges = merges_of(graph, root, found.rest);
        for (const Merge &merge : found.merges)
            for (const ValueId term : merge.terms) cover(graph, term, merge.x, covered);
        if (found.merges.empty()) continue;
        std::vector<ValueId> sums{root}; // the additions between the root and its terms are replaced as well
        for (size_t i = 0; i < sums.size(); ++i)
            if (const ir::Node *node = graph.producer(sums[i]);
                adds(node) && (i == 0 || graph.uses(sums[i]) == 1) && covered.insert(sums[i]).second)
                sums.insert(sums.end(), node->inputs.begin(), node->inputs.end());
        plans.emplace(root, std::move(found));
    }
    return plans;
}

} // namespace

Expected<ir::Graph> merge_branches(const ir::Graph &graph) {
    const auto plans = plan(graph);
    ir::Rewriter rewriter(graph);
    return rewriter.run([&](ir::Rewriter &rewrite, const ir::Node &node) -> Expected<ValueId> {
        const auto found = plans.find(node.output);
        if (found == plans.end()) return rewrite.keep(node);
        std::optional<ValueId> total;
        const auto add = [&](ValueId value) -> Status {
            if (total) {
                LW_ASSIGN(total, ir::make_sum(rewrite.to(), *total, value, node.layer));
            } else total = value;
            return Status::ok();
        };
        for (const Merge &merge : found->second.merges) {
            LW_ASSIGN(const ValueId value, emit(rewrite, graph, merge));
            LW_TRY(add(value));
        }
        for (const ValueId value : found->second.rest) LW_TRY(add(rewrite.map(value)));
        return *total;
    });
}

} // namespace longwave::compiler
