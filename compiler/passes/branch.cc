#include "compiler/passes/branch.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

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

const ir::OpDef &op_of_any_filter() {
    const auto ops = ir::all_ops();
    return **std::find_if(ops.begin(), ops.end(), [](const ir::OpDef *op) {
        return op->rewrites.filter && op->rewrites.filter->any;
    });
}

std::optional<Branch> convolution(const ir::Graph &graph, const ir::Node &node) {
    auto filter = node.op->rewrites.filter->read(graph, node);
    if (!filter) return {};
    Branch branch;
    branch.parts = {fmt::format("{}{}", filter->prepared ? "long " : "", size_of(*filter))};
    branch.filter = *std::move(filter);
    branch.written = is_long(branch.filter) ? &op_of_any_filter() : node.op;
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

} // namespace

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

} // namespace longwave::compiler
