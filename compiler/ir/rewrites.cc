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

// Weights with a factor for each output channel, or for each input.
class Scaled : public NumberSource {
public:
    Scaled(Numbers weights, size_t row, std::vector<double> outputs, std::vector<double> inputs)
        : weights_(std::move(weights)), row_(row), outputs_(std::move(outputs)), inputs_(std::move(inputs)) {}
    size_t size() const override { return weights_.size(); }
    void read(size_t first, std::span<double> to) const override {
        weights_.read(first, to);
        for (size_t i = 0; i < to.size(); ++i) {
            const size_t at = first + i;
            to[i] *= inputs_.empty() ? outputs_[at / row_] : inputs_[at % row_ % inputs_.size()];
        }
    }

private:
    Numbers weights_;
    size_t row_;
    std::vector<double> outputs_, inputs_; // one of them is empty
};

// Few numbers are cheaper to hold than to make again for every reader.
constexpr size_t few = size_t{1} << 18;

Numbers held(std::shared_ptr<const NumberSource> made) {
    Numbers numbers(std::move(made));
    return numbers.size() <= few ? Numbers(numbers.to_vector()) : numbers;
}

struct Weights {
    std::vector<uint32_t> dims;
    Numbers weight;
    std::vector<double> bias;
    size_t row() const { return weight.size() / dims[0]; } // of one output channel
};

Weights weights_of(const Graph &graph, const Node &node) {
    Weights w{
        .dims = graph.type(node.inputs[1]).dims, .weight = graph.constant(node.inputs[1])->data, .bias = {}};
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
    w.weight = held(std::make_shared<Scaled>(w.weight, w.row(), map.scale, std::vector<double>()));
    for (size_t o = 0; o < w.bias.size(); ++o) w.bias[o] = map.shift[o] + w.bias[o] * map.scale[o];
    return written(to, node, x, std::move(w));
}

// w'[o,i] = w[o,i] · scale[i], b'[o] = b[o] + Σ w[o,i] · shift[i].
Expected<std::optional<ValueId>> fold_input_into_weights(Builder &to, const Node &node, ValueId x,
                                                         const ChannelMap &map) {
    Weights w = weights_of(to.graph(), node);
    const size_t inputs = w.row(), n = map.scale.size(); // channels repeat along a row
    std::vector<double> row(inputs);
    for (size_t o = 0; o < w.bias.size(); ++o) {
        w.weight.read(o * inputs, row);
        for (size_t i = 0; i < inputs; ++i) w.bias[o] += row[i] * map.shift[i % n];
    }
    w.weight = held(std::make_shared<Scaled>(w.weight, inputs, std::vector<double>(), map.scale));
    return written(to, node, x, std::move(w));
}

} // namespace longwave::ir
