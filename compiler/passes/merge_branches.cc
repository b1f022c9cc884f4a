#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/compare.h"
#include "compiler/ops/support/filter.h"
#include "compiler/passes/passes.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace longwave::compiler {
namespace {

// The algebra of merge_branches: a value as a filter on another value, and sums of such filters.

struct Branch {
    ir::Filter filter;
    std::vector<std::string> parts; // "3", "5", "identity"
    bool normed = false;            // taps and bias contain a norm
    bool rewritten = false;         // it has so many taps that another op than its own computes it
    const ir::OpDef *written =
        nullptr;       // the op that will express it; null as long as it contains no convolution
    std::string layer; // of its longest convolution

    // True if merging this branch alone saves work.
    bool worth_writing() const;
    std::string describe() const; // "branches {3, identity} → 5 taps and a bias"
};

// "5", or "4+3 ahead" with taps on both sides of the current row.
std::string size_of(const ir::Filter &filter) {
    if (filter.prepared)
        return fmt::format("{}{}", filter.prepared_taps, filter.two_sided ? " both ways" : "");
    if (!filter.two_sided) return fmt::format("{}", filter.known_taps());
    return fmt::format("{}+{} ahead", filter.known_taps(), filter.known_ahead());
}

constexpr size_t most_copies = 64; // of the kernels of the op for long filters

// Ops for short filters sum over their taps, but for the zeros of a dilation. For a long one the
// planner chooses an algorithm. It has many lags at which some row has a tap. A bank of filters on one
// channel shares the reads of its rows, so transforms serve it later.
bool is_long(const ir::Filter &filter) {
    const size_t least = ir::least_long_taps * filter.copies();
    if (filter.longest() < least || filter.copies() > most_copies) return false;
    size_t lags = 0;
    for (const auto *side : {&filter.taps, &filter.ahead})
        for (size_t j = 0; j < (*side)[0].size(); ++j)
            lags += std::any_of(side->begin(), side->end(), [&](const auto &row) { return row[j] != 0; });
    return lags >= least;
}

std::optional<Branch> convolution(const ir::Graph &graph, const ir::Node &node) {
    auto filter = node.op->rewrites.filter->read(graph, node);
    if (!filter) return {};
    Branch branch;
    branch.parts = {fmt::format("{}{}", filter->prepared ? "long " : "", size_of(*filter))};
    branch.filter = *std::move(filter);
    branch.written = is_long(branch.filter) ? &ir::op_of_any_filter() : node.op;
    branch.rewritten = branch.written != node.op;
    branch.layer = node.layer;
    return branch;
}

std::optional<Branch> mapped(const ir::Graph &graph, const ir::Node &node, Branch branch) {
    if (!ir::constants_from(graph, node, 1)) return {};
    const auto map = node.op->rewrites.channel_map(graph, node);
    if (!map) return {}; // fold_norms reports it
    branch.filter.multiply(map->scale, map->shift);
    branch.normed = true;
    return branch;
}

// fold_norms folds a norm after an op that can take it into its weights. After a prepared kernel
// the bias would remain, so a merge would save nothing.
bool Branch::worth_writing() const {
    if (parts.size() > 1 || filter.scattered || rewritten) return true;
    return normed && !filter.prepared && !written->rewrites.fold_result;
}

std::string Branch::describe() const {
    if (parts.size() == 1 && rewritten) return fmt::format("long convolution of {} taps", size_of(filter));
    if (parts.size() == 1 && !normed) return fmt::format("D into tap 0 of {}", filter.known_taps());
    const char *bias = filter.biased() ? " and a bias" : "";
    return fmt::format("branches {{{}}} → {} taps{}", fmt::join(parts, ", "), size_of(filter), bias);
}

bool is_filter(const ir::Graph &graph, const ir::Node *node) {
    return node && node->op->rewrites.filter && node->op->rewrites.filter->is(graph, *node);
}

// Empty if the two cannot be one filter.
std::optional<Branch> sum(Branch a, const Branch &b) {
    const bool longer = b.filter.prepared || (!a.filter.prepared && b.filter.longest() > a.filter.longest());
    const ir::OpDef *written = a.written ? a.written : b.written;
    if (a.written && b.written && a.written != b.written) {
        if (b.written->rewrites.filter->any) written = b.written;
        if (!written->rewrites.filter->any) return {};
    }
    if (!a.filter.add(b.filter)) return {};
    if (longer || a.layer.empty()) a.layer = b.layer;
    a.written = written;
    a.parts.insert(a.parts.end(), b.parts.begin(), b.parts.end());
    a.normed |= b.normed;
    a.rewritten |= b.rewritten;
    return a;
}

// `value` as a branch on x; empty if it is none. `root`: `value` may have several readers. A value
// inside the branch that another node reads is needed anyway, so it stays.
std::optional<Branch> branch_of(const ir::Graph &graph, ir::ValueId value, ir::ValueId x, bool root) {
    if (value == x) {
        Branch branch;
        branch.filter = ir::Filter::identity(graph.type(x).dims[0]);
        branch.parts = {"identity"};
        return branch;
    }
    const ir::Node *node = graph.producer(value);
    if (!node || (!root && graph.uses(value) != 1)) return {};
    if (is_filter(graph, node)) return node->inputs[0] == x ? convolution(graph, *node) : std::nullopt;
    const bool adds = node->op->rewrites.sum;
    if (!adds && !node->op->rewrites.channel_map) return {};
    auto first = branch_of(graph, node->inputs[0], x, false);
    if (!first) return {};
    if (!adds) return mapped(graph, *node, *std::move(first));
    const auto second = branch_of(graph, node->inputs[1], x, false);
    return second ? sum(*std::move(first), *second) : std::nullopt;
}

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
