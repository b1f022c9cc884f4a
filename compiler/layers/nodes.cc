#include "compiler/layers/nodes.h"
#include "compiler/ir/op.h"
#include <optional>

namespace longwave::compiler::layers {
namespace {

using package::Node;

// JSON has one kind of number where an op may want a float: 1 means 1.0 there.
ir::Attributes attributes_of(const Node &node, const ir::OpDef &op) {
    ir::Attributes attributes;
    for (const auto &[name, value] : node.attributes.items()) {
        bool number = value.is_number_float();
        for (const ir::AttributeDef &def : op.attributes)
            if (def.name == name && value.is_number()) number |= def.kind == ir::AttributeDef::Kind::number;
        if (value.is_string()) attributes[name] = value.get<std::string>();
        else if (number) attributes[name] = value.get<double>();
        else attributes[name] = value.get<int64_t>();
    }
    return attributes;
}

const ir::OpDef *known_op(Lowering &lowering, const Node &node) {
    if (const ir::OpDef *op = ir::find_op(node.op); op && !op->of_passes) return op;
    std::vector<std::string> names;
    for (const ir::OpDef *op : ir::all_ops())
        if (!op->of_passes) names.push_back(op->name);
    lowering.problems().add(node.path + ".op", "an op of docs/ops.md", package::in_quotes(node.op),
                            lowering.problems().hint(node.op, names));
    return nullptr;
}

// The values that the node reads; nothing when one of them failed, here or before.
std::optional<std::vector<ir::ValueId>> operands(Lowering &lowering, const Node &node) {
    std::vector<ir::ValueId> values;
    bool complete = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        const auto &input = node.inputs[i];
        std::optional<ir::ValueId> value;
        if (input.tensor) value = lowering.tensor(input.name, package::element(node.path + ".inputs", i));
        else if (const Flow *flow = lowering.at(input.name)) value = flow->value;
        if (value) values.push_back(*value);
        complete = complete && value;
    }
    return complete ? std::optional(std::move(values)) : std::nullopt;
}

// Nothing when an input failed before: that was reported there.
void lower_layer(Lowering &lowering, const Layer &layer) {
    const Flow *first = nullptr;
    for (const std::string &address : layer.inputs)
        if (first = lowering.at(address); !first) return;
    if (first) lowering.layer(layer, *first);
}

} // namespace

void lower_nodes(Lowering &lowering, const std::vector<Node> &nodes, const std::vector<Layer> &layers) {
    auto next = layers.begin();
    for (const Node &node : nodes) {
        if (node.op.empty() && next != layers.end()) {
            lower_layer(lowering, *next++);
            continue;
        }
        const ir::OpDef *op = known_op(lowering, node);
        auto inputs = operands(lowering, node);
        if (!op || !inputs) continue;
        Layer layer; // for messages and reports
        layer.path = node.path;
        layer.address = node.layer();
        auto flow =
            lowering.node(layer, node.op, *std::move(inputs), attributes_of(node, *op), Form::features);
        if (flow) lowering.define(node.name, *flow);
        else lowering.problems().append(flow.status());
    }
}

} // namespace longwave::compiler::layers
