#include "compiler/passes/merge_branches.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/compare.h"
#include "compiler/ops/op.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace longwave::compiler {

namespace {

using ir::ValueId;

bool is(const ir::Node *node, std::string_view op) { return node && op == node->op->name; }

// A branch on x in lag form: y[t] = Σ_j taps[h][j] x[t−j] + bias[h], and, where `expanded` is an expand_scales whose taps are not known yet, gain[h] times the
// convolution of x with these.
struct Branch {
    std::vector<std::vector<double>> taps; // [H][K]
    std::vector<double> bias;              // [H]
    const ir::Node *expanded = nullptr;
    std::vector<double> gain;          // [H], of `expanded`
    std::vector<std::string> parts;    // "3", "5", "identity"
    bool direct = false, norm = false; // D in tap 0, a norm in taps and bias: merging it alone saves something
    bool depthwise = true;             // every convolution in it is a depthwise conv2d, and so will be the merged one
    std::string layer;                 // of its longest convolution

    size_t length() const { return taps[0].size(); }
    size_t expanded_length() const { return static_cast<size_t>(expanded->integer("taps")); }
};

Branch identity(uint32_t heads) {
    return {.taps = std::vector(heads, std::vector{1.0}),
            .bias = std::vector(heads, 0.0),
            .gain = std::vector(heads, 1.0),
            .parts = {"identity"},
            .layer = {}};
}

// conv2d over one frequency with a filter for each channel: a short causal convolution in torch order, so lag j has weight W[kt − 1 − j].
bool is_depthwise(const ir::Graph &graph, const ir::Node &node) {
    if (!is(&node, "conv2d") || graph.type(node.inputs[0]).dims.size() != 1) return false;
    const auto &dims = graph.type(node.inputs[1]).dims; // [out, in/groups, kt, kf]
    const uint32_t heads = graph.type(node.inputs[0]).dims[0];
    return dims[0] == heads && dims[1] == 1 && dims[3] == 1 && node.integer("groups") == heads && node.integer("stride_t") == 1 &&
           node.integer("stride_f") == 1;
}

std::optional<Branch> short_convolution(const ir::Graph &graph, const ir::Node &node) {
    const ir::Constant *w = graph.constant(node.inputs[1]), *bias = node.integer("bias") ? graph.constant(node.inputs[2]) : nullptr;
    if (!w || (node.integer("bias") && !bias)) return {};
    const auto &dims = graph.type(node.inputs[1]).dims;
    Branch branch = identity(dims[0]);
    branch.parts = {fmt::format("{}", dims[2])};
    branch.layer = node.layer;
    for (size_t h = 0; h < dims[0]; ++h) {
        const auto filter = w->data.begin() + static_cast<ptrdiff_t>(h * dims[2]);
        branch.taps[h].assign(std::make_reverse_iterator(filter + dims[2]), std::make_reverse_iterator(filter));
        branch.bias[h] = bias ? bias->data[h] : 0.0;
    }
    return branch;
}

std::optional<Branch> convolution(const ir::Graph &graph, const ir::Node &node) {
    const ir::Constant *k = graph.constant(node.inputs[1]), *d = graph.constant(node.inputs[2]);
    const ir::Node *expand = graph.producer(node.inputs[1]);
    if (node.integer("two_sided") || node.integer("channels") != 1 || !d || (!k && !is(expand, "expand_scales"))) return {};
    const auto &dims = graph.type(node.inputs[1]).dims; // [1, H, taps]
    Branch branch = identity(dims[1]);
    branch.parts = {k ? fmt::format("{}", dims[2]) : fmt::format("long {}", dims[2])};
    branch.layer = node.layer;
    branch.depthwise = false;
    // Of an expanded kernel, the taps known now are those of a short one that was merged into it before.
    const ir::Constant *known = k ? k : expand->inputs.size() == 2 ? graph.constant(expand->inputs[1]) : nullptr;
    if (!k && (!graph.constant(expand->inputs[0]) || (expand->inputs.size() == 2 && !known))) return {};
    const auto length = static_cast<ptrdiff_t>(known ? known->data.size() / dims[1] : 1);
    for (size_t h = 0; h < dims[1]; ++h) {
        const double direct = d->data[h];
        branch.direct |= k && direct != 0;
        if (known)
            branch.taps[h].assign(known->data.begin() + static_cast<ptrdiff_t>(h) * length,
                                  known->data.begin() + static_cast<ptrdiff_t>(h + 1) * length);
        else branch.taps[h] = {0.0};
        branch.taps[h][0] += direct;
    }
    if (!k) branch.expanded = expand;
    return branch;
}

// Nothing where both have a kernel that is expanded later, or one is shorter than the other branch.
std::optional<Branch> sum(Branch a, const Branch &b) {
    if (a.expanded && b.expanded) return {};
    if ((a.expanded && b.length() > a.expanded_length()) || (b.expanded && a.length() > b.expanded_length())) return {};
    if (b.expanded || (!a.expanded && b.length() > a.length()) || a.layer.empty()) a.layer = b.layer;
    if (b.expanded) a.expanded = b.expanded, a.gain = b.gain;
    for (size_t h = 0; h < a.taps.size(); ++h) {
        if (a.taps[h].size() < b.taps[h].size()) a.taps[h].resize(b.taps[h].size());
        for (size_t j = 0; j < b.taps[h].size(); ++j) a.taps[h][j] += b.taps[h][j];
        a.bias[h] += b.bias[h];
    }
    a.parts.insert(a.parts.end(), b.parts.begin(), b.parts.end());
    a.direct |= b.direct;
    a.norm |= b.norm;
    a.depthwise &= b.depthwise;
    return a;
}

Branch scaled(Branch branch, const ir::Numbers &scale, const ir::Numbers &shift) {
    for (size_t h = 0; h < branch.taps.size(); ++h) {
        const double s = scale[h % scale.size()];
        for (double &tap : branch.taps[h]) tap *= s;
        branch.gain[h] *= s;
        branch.bias[h] = branch.bias[h] * s + shift[h % shift.size()];
    }
    branch.norm = true;
    return branch;
}

std::optional<Branch> normed(const ir::Graph &graph, const ir::Node &node, Branch branch) {
    std::vector<const ir::Numbers *> p;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
        const ir::Constant *constant = graph.constant(node.inputs[i]);
        if (!constant) return {};
        p.push_back(&constant->data);
    }
    if (is(&node, "affine")) return scaled(std::move(branch), *p[0], *p[1]);
    std::vector<double> scale, shift; // weight, bias, mean, var
    for (size_t c = 0; c < p[0]->size(); ++c) {
        scale.push_back((*p[0])[c] / std::sqrt((*p[3])[c] + node.number("eps")));
        shift.push_back((*p[1])[c] - (*p[2])[c] * scale.back());
        if (!std::isfinite(scale.back())) return {}; // fold_norms reports it
    }
    return scaled(std::move(branch), scale, shift);
}

// `value` as a branch on x, or nothing. Inner values with other readers are needed anyway, so they stay.
std::optional<Branch> branch_of(const ir::Graph &graph, ValueId value, ValueId x, bool root) {
    if (value == x) return identity(graph.type(x).dims[0]);
    const ir::Node *node = graph.producer(value);
    if (!node || (!root && graph.uses(value) != 1)) return {};
    if (is(node, "long_conv")) return node->inputs[0] == x ? convolution(graph, *node) : std::nullopt;
    if (is_depthwise(graph, *node)) return node->inputs[0] == x ? short_convolution(graph, *node) : std::nullopt;
    const bool add = is(node, "add");
    if (!add && !is(node, "affine") && !is(node, "batch_norm")) return {};
    auto first = branch_of(graph, node->inputs[0], x, false);
    if (!first) return {};
    if (!add) return normed(graph, *node, *std::move(first));
    const auto second = branch_of(graph, node->inputs[1], x, false);
    return second ? sum(*std::move(first), *second) : std::nullopt;
}

// The values that a tree of additions sums up, and every convolution's input below them.
void terms_of(const ir::Graph &graph, ValueId value, bool root, std::vector<ValueId> &terms) {
    const ir::Node *node = graph.producer(value);
    if (!is(node, "add") || (!root && graph.uses(value) != 1)) return terms.push_back(value);
    for (const ValueId id : node->inputs) terms_of(graph, id, false, terms);
}

void bases_of(const ir::Graph &graph, ValueId value, std::vector<ValueId> &bases) {
    const ir::Node *node = graph.producer(value);
    if (node && (is(node, "long_conv") || is_depthwise(graph, *node))) {
        if (std::find(bases.begin(), bases.end(), node->inputs[0]) == bases.end()) bases.push_back(node->inputs[0]);
    } else if (is(node, "add")) {
        for (const ValueId id : node->inputs) bases_of(graph, id, bases);
    } else if (is(node, "affine") || is(node, "batch_norm")) bases_of(graph, node->inputs[0], bases);
}

// One convolution in the place of some terms of a sum.
struct Merge {
    ValueId x = 0;
    std::vector<ValueId> terms;
    Branch branch;
};

// What merges of `terms` on x: all branches, but for a second kernel that is expanded later.
std::optional<Merge> merge_on(const ir::Graph &graph, ValueId x, const std::vector<ValueId> &terms, bool alone) {
    std::optional<Merge> merge;
    for (const ValueId term : terms) {
        const auto branch = branch_of(graph, term, x, alone);
        if (!branch) continue;
        if (!merge) merge = Merge{x, {}, *branch};
        else if (auto both = sum(merge->branch, *branch)) merge->branch = *std::move(both);
        else continue;
        merge->terms.push_back(term);
    }
    // A norm of x alone, or x itself, is no convolution yet.
    if (!merge || merge->branch.layer.empty()) return {};
    const Branch &branch = merge->branch;
    // A norm behind a single conv2d is folded by fold_norms; behind an expanded kernel its bias would stay, so nothing would be saved.
    return branch.parts.size() > 1 || branch.direct || (branch.norm && !branch.depthwise && !branch.expanded) ? merge : std::nullopt;
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

bool biased(const Branch &branch) {
    return std::any_of(branch.bias.begin(), branch.bias.end(), [](double b) { return b != 0; });
}

std::string describe(const Branch &branch) {
    if (branch.parts.size() == 1 && !branch.norm) return fmt::format("D into tap 0 of {}", branch.length());
    const std::string into = fmt::format("{} taps", branch.expanded ? branch.expanded_length() : branch.length());
    return fmt::format("branches {{{}}} → {}{}", fmt::join(branch.parts, ", "), into, biased(branch) ? " and a bias" : "");
}

Expected<ValueId> emit_depthwise(ir::Rewriter &rewrite, const Merge &merge) {
    const Branch &branch = merge.branch;
    const auto heads = static_cast<uint32_t>(branch.taps.size()), length = static_cast<uint32_t>(branch.length());
    std::vector<double> weight;
    for (const auto &row : branch.taps) weight.insert(weight.end(), row.rbegin(), row.rend());
    std::vector<ValueId> inputs{rewrite.map(merge.x),
                                rewrite.to().constant(branch.layer + ".weight.merged", {heads, 1, length, 1}, std::move(weight))};
    if (biased(branch)) inputs.push_back(rewrite.to().constant(branch.layer + ".bias.merged", {heads}, branch.bias));
    return rewrite.to().node("conv2d", inputs,
                             {{"stride_t", int64_t{1}},
                              {"stride_f", int64_t{1}},
                              {"groups", int64_t{heads}},
                              {"bias", int64_t{biased(branch)}},
                              {"frequency", int64_t{0}}},
                             branch.layer);
}

// The parameters [N, 1, H, d] of the branch's expanded kernel times its gain.
ValueId scaled_parameters(ir::Rewriter &rewrite, const ir::Graph &graph, const Branch &branch) {
    const ValueId parameters = branch.expanded->inputs[0];
    if (std::all_of(branch.gain.begin(), branch.gain.end(), [](double g) { return g == 1; })) return rewrite.map(parameters);
    const auto &dims = graph.type(parameters).dims;
    std::vector<double> values = graph.constant(parameters)->data.to_vector();
    for (size_t i = 0; i < values.size(); ++i) values[i] *= branch.gain[i / dims[3] % dims[2]];
    return rewrite.to().constant(branch.layer + ".kernel_list.scaled", dims, std::move(values));
}

Expected<ValueId> emit_long(ir::Rewriter &rewrite, const ir::Graph &graph, const Merge &merge) {
    const Branch &branch = merge.branch;
    const auto heads = static_cast<uint32_t>(branch.taps.size()), length = static_cast<uint32_t>(branch.length());
    std::vector<double> taps;
    for (const auto &row : branch.taps) taps.insert(taps.end(), row.begin(), row.end());
    ir::Builder &to = rewrite.to();
    const ValueId short_kernel = to.constant(branch.layer + ".k.merged", {1, heads, length}, taps);
    ValueId k = short_kernel;
    if (branch.expanded) {
        LW_ASSIGN(k, to.node("expand_scales", {scaled_parameters(rewrite, graph, branch), short_kernel}, branch.expanded->attributes, branch.layer));
    }
    const ValueId d = to.constant(branch.layer + ".D.merged", {1, heads}, std::vector(heads, 0.0));
    LW_ASSIGN(const ValueId y,
              to.node("long_conv", {rewrite.map(merge.x), k, d}, {{"channels", int64_t{1}}, {"two_sided", int64_t{0}}}, branch.layer));
    if (!biased(branch)) return y;
    const ValueId ones = to.constant(branch.layer + ".ones", {heads}, std::vector(heads, 1.0)),
                  bias = to.constant(branch.layer + ".bias.merged", {heads}, branch.bias);
    return to.node("affine", {y, ones, bias}, {}, branch.layer);
}

Expected<ValueId> emit(ir::Rewriter &rewrite, const ir::Graph &graph, const Merge &merge) {
    const Branch &branch = merge.branch;
    ir::Builder &to = rewrite.to();
    LW_ASSIGN(const ValueId y, branch.depthwise ? emit_depthwise(rewrite, merge) : emit_long(rewrite, graph, merge));
    LW_ASSIGN(const ir::Graph before, ir::excerpt(graph, merge.x, merge.terms));
    LW_ASSIGN(const ir::Graph after, ir::excerpt(to.graph(), rewrite.map(merge.x), {y}));
    const size_t longest = branch.expanded ? branch.expanded_length() : branch.length();
    const size_t nonzero =
        std::max<size_t>(4, (size_t{1} << 26) / (longest * branch.taps.size() * merge.terms.size())); // bounds the work of the re-run
    LW_ASSIGN(ir::Certificate certificate, ir::certify("merge_branches", branch.layer, describe(branch), before, after, longest + 8, nonzero));
    to.certificate(std::move(certificate));
    return y;
}

// Marks what a merge replaced, so that no part of it is merged again.
void cover(const ir::Graph &graph, ValueId value, ValueId x, std::set<ValueId> &covered) {
    const ir::Node *node = graph.producer(value);
    if (value == x || !node || !covered.insert(value).second || is(node, "long_conv") || is(node, "conv2d")) return;
    cover(graph, node->inputs[0], x, covered);
    if (is(node, "add")) cover(graph, node->inputs[1], x, covered);
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
                is(node, "add") && (i == 0 || graph.uses(sums[i]) == 1) && covered.insert(sums[i]).second)
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
                LW_ASSIGN(total, rewrite.to().node("add", {*total, value}, {}, node.layer));
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
