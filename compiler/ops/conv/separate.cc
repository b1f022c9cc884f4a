// y[t,o] = Σ_i Σ_j w[o,i,j] x[t−j,i] is a filter per pair (o,i) on x[i], and a sum over i. The pairs
// lie output by output: pair o·I + i reads channel i.
#include "compiler/ops/conv/separate.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/filter.h"
#include <algorithm>

namespace longwave::ir {
namespace {

// From so many taps per output on the filters take less time than the convolution, offline and in blocks of
// 16 rows or more. Many outputs fill the vectors of the convolution. Measured on an AMD EPYC (Zen 4) per
// block of 16: 2 × 2 channels with 64 taps 1.5 → 0.5 µs, 16 × 16 with 256 taps 19.7 → 15.0 µs.
constexpr uint32_t taps_per_output = 12;

// Lags at which some pair has a tap: not those between the taps of a dilation.
uint32_t lags_of(const Numbers &weights, uint32_t taps) {
    std::vector<bool> used(taps);
    const std::vector<double> w = weights.to_vector();
    for (size_t n = 0; n < w.size(); ++n)
        if (w[n] != 0) used[n % taps] = true;
    return static_cast<uint32_t>(std::count(used.begin(), used.end(), true));
}

bool is_long_mixer(const Graph &graph, const Node &node) {
    const Type &x = graph.type(node.inputs[0]);
    const std::vector<uint32_t> &w = graph.type(node.inputs[1]).dims; // [out, in, taps, 1]
    const uint32_t least = std::max(least_long_taps, taps_per_output * w[0]);
    return x.dims.size() == 1 && node.integer("frequency") == 0 && node.integer("groups") == 1 &&
           node.integer("stride_t") == 1 && node.integer("stride_f") == 1 && w[1] > 1 && w[3] == 1 &&
           uint64_t{w[0]} * w[1] <= most_separated_pairs && w[2] >= least &&
           lags_of(graph.constant(node.inputs[1])->data, w[2]) >= least;
}

// Channel i of every output.
Expected<ValueId> channel_of_each_pair(Builder &to, ValueId x, uint32_t out, uint32_t in,
                                       const std::string &layer) {
    if (out == 1) return x;
    std::vector<double> index;
    for (uint32_t pair = 0; pair < out * in; ++pair) index.push_back(pair % in);
    const ValueId order = to.constant(layer + ".pairs", {out * in}, std::move(index));
    return to.node("take", {x, order}, {{"bands", int64_t{1}}}, layer);
}

// Pairs that fill no tile of channels lie as copies of each input: they share its transforms.
constexpr uint32_t most_pairs_as_copies = 15;

bool may_be_copies(const Node &node, uint32_t pairs) {
    const auto is = [&](const char *attribute, int64_t value) {
        return !node.has(attribute) || node.integer(attribute) == value;
    };
    return pairs <= most_pairs_as_copies && is("ahead", 0) && is("dilation", 1);
}

// Copy o of channel i is pair o·I + i.
Expected<ValueId> copies_of_inputs(Rewriter &rewrite, const Graph &from, const Node &node) {
    const std::vector<uint32_t> &w = from.type(node.inputs[1]).dims;
    const Numbers &weights = from.constant(node.inputs[1])->data;
    Filter filter = Filter::identity(w[1], w[0]);
    for (size_t pair = 0; pair < filter.rows(); ++pair) {
        filter.taps[pair] = weights.copy(pair * w[2], w[2]);
        std::reverse(filter.taps[pair].begin(), filter.taps[pair].end()); // the newest row is the last weight
    }
    const FilterForm &form = *op_of_any_filter().rewrites.filter;
    return form.write(rewrite, from, rewrite.map(node.inputs[0]), filter, node.layer);
}

// Every pair as a channel of its own.
Expected<ValueId> channels_of_pairs(Rewriter &rewrite, const Graph &from, const Node &node) {
    const std::vector<uint32_t> &w = from.type(node.inputs[1]).dims;
    const uint32_t out = w[0], in = w[1], pairs = out * in;
    Builder &to = rewrite.to();
    LW_ASSIGN(const ValueId x, channel_of_each_pair(to, rewrite.map(node.inputs[0]), out, in, node.layer));
    const ValueId taps =
        to.constant(node.layer + ".taps of pairs", {pairs, 1, w[2], 1}, from.constant(node.inputs[1])->data);
    Attributes attributes = node.attributes;
    attributes["groups"] = int64_t{pairs};
    attributes["bias"] = int64_t{0};
    return to.node(node.op->name, {x, taps}, attributes, node.layer);
}

} // namespace

Expected<std::optional<Separated>> separate(Rewriter &rewrite, const Graph &from, const Node &node) {
    if (!is_long_mixer(from, node)) return std::optional<Separated>();
    const std::vector<uint32_t> &w = from.type(node.inputs[1]).dims;
    const uint32_t out = w[0], in = w[1], pairs = out * in;
    LW_ASSIGN(const ValueId filtered, may_be_copies(node, pairs) ? copies_of_inputs(rewrite, from, node)
                                                                 : channels_of_pairs(rewrite, from, node));
    Builder &to = rewrite.to();
    std::vector<double> ones(size_t{out} * pairs);
    for (uint32_t pair = 0; pair < pairs; ++pair) ones[size_t{pair / in} * pairs + pair] = 1;
    std::vector<ValueId> inputs{filtered,
                                to.constant(node.layer + ".sum of pairs", {out, pairs}, std::move(ones))};
    if (node.integer("bias")) inputs.push_back(rewrite.map(node.inputs[2]));
    LW_ASSIGN(const ValueId sum,
              to.node("linear", std::move(inputs), {{"bias", node.integer("bias")}}, node.layer));
    return std::optional(Separated{sum, pairs, w[2]});
}

} // namespace longwave::ir
