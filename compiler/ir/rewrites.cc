#include "compiler/ir/rewrites.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include <algorithm>

namespace longwave::ir {

bool constants_from(const Graph &graph, const Node &node, size_t first) {
    const auto constant = [&](ValueId id) { return graph.constant(id) != nullptr; };
    return std::all_of(node.inputs.begin() + static_cast<ptrdiff_t>(first), node.inputs.end(), constant);
}

namespace {

struct Weights {
    std::vector<uint32_t> dims;
    std::vector<double> weight, bias;
    size_t row() const { return weight.size() / dims[0]; } // of one output channel
};

Weights weights_of(const Graph &graph, const Node &node) {
    Weights w{.dims = graph.type(node.inputs[1]).dims,
              .weight = graph.constant(node.inputs[1])->data.to_vector(),
              .bias = {}};
    if (node.inputs.size() > 2) w.bias = graph.constant(node.inputs[2])->data.to_vector();
    else w.bias.assign(w.dims[0], 0.0);
    return w;
}

Expected<std::optional<ValueId>> written(Builder &to, const Node &node, ValueId x, Weights weights) {
    const ValueId w = to.constant(node.layer + ".weight.folded", weights.dims, std::move(weights.weight));
    const ValueId b = to.constant(node.layer + ".bias.folded", {weights.dims[0]}, std::move(weights.bias));
    Attributes attributes = node.attributes;
    attributes["bias"] = int64_t{1};
    LW_ASSIGN(const ValueId made, to.node(node.op->name, {x, w, b}, std::move(attributes), node.layer));
    return std::optional(made);
}

} // namespace

// w'[o,…] = w[o,…] · scale[o], b'[o] = b[o] · scale[o] + shift[o].
Expected<std::optional<ValueId>> fold_result_into_weights(Builder &to, const Node &node, ValueId x,
                                                          const ChannelMap &map) {
    // One value for every frequency and channel is more than the weights can hold.
    if (map.scale.size() != to.graph().type(node.inputs[1]).dims[0]) return std::optional<ValueId>();
    Weights w = weights_of(to.graph(), node);
    for (size_t i = 0, row = w.row(); i < w.weight.size(); ++i) w.weight[i] *= map.scale[i / row];
    for (size_t o = 0; o < w.bias.size(); ++o) w.bias[o] = map.shift[o] + w.bias[o] * map.scale[o];
    return written(to, node, x, std::move(w));
}

// w'[o,i] = w[o,i] · scale[i], b'[o] = b[o] + Σ w[o,i] · shift[i].
Expected<std::optional<ValueId>> fold_input_into_weights(Builder &to, const Node &node, ValueId x,
                                                         const ChannelMap &map) {
    Weights w = weights_of(to.graph(), node);
    const size_t inputs = w.row(), n = map.scale.size(); // channels repeat along a row
    for (size_t o = 0; o < w.bias.size(); ++o)
        for (size_t i = 0; i < inputs; ++i) {
            double &weight = w.weight[o * inputs + i];
            w.bias[o] += weight * map.shift[i % n];
            weight *= map.scale[i % n];
        }
    return written(to, node, x, std::move(w));
}

} // namespace longwave::ir
