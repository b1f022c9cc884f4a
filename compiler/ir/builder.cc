#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include <fmt/format.h>

namespace longwave::ir {

ValueId Builder::input(GraphInput input, Type type) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    input.value = id;
    graph_.values.push_back(
        {std::move(type), Value::Kind::input, static_cast<uint32_t>(graph_.inputs.size())});
    graph_.inputs.push_back(std::move(input));
    return id;
}

ValueId Builder::constant(std::string key, std::vector<uint32_t> shape, Numbers data) {
    const Type type{.dims = std::move(shape), .clock = {0, 1}};
    return constant(Constant{std::move(key), std::move(data)}, type);
}

ValueId Builder::constant(const Constant &constant, const Type &type) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({type, Value::Kind::constant, static_cast<uint32_t>(graph_.constants.size())});
    graph_.constants.push_back(constant);
    return id;
}

Expected<ValueId> Builder::node(const std::string &op, std::vector<ValueId> inputs, Attributes attributes,
                                std::string layer) {
    const auto fail = [&](const Status &status) {
        return Status(status.fault(), fmt::format("layer {}: {}: {}", layer, op, status.message()));
    };
    Node node{find_op(op), std::move(attributes), std::move(inputs),
              static_cast<ValueId>(graph_.values.size()), layer};
    if (!node.op) return fail(Status::input("there is no such op"));
    std::vector<Type> types;
    for (const ValueId id : node.inputs) {
        if (id >= graph_.values.size())
            return fail(Status::internal(fmt::format("input %{} does not exist", id)));
        types.push_back(graph_.type(id));
    }
    auto type = result_type(node, types);
    if (!type) return fail(type.status());
    const ValueId id = node.output;
    graph_.values.push_back(
        {*std::move(type), Value::Kind::node, static_cast<uint32_t>(graph_.nodes.size())});
    graph_.nodes.push_back(std::move(node));
    return id;
}

void Builder::output(std::string name, ValueId value) { graph_.outputs.push_back({std::move(name), value}); }

Rewriter::Rewriter(const Graph &from) : from_(from), to_(from.name), mapped_(from.values.size()) {
    for (const Certificate &certificate : from.certificates) to_.certificate(certificate);
}

void Rewriter::carry(ValueId end) {
    for (; carried_ < end; ++carried_) {
        const Value &value = from_.values[carried_];
        if (value.kind == Value::Kind::input)
            mapped_[carried_] = to_.input(from_.inputs[value.index], value.type);
        if (value.kind == Value::Kind::constant)
            mapped_[carried_] = to_.constant(from_.constants[value.index], value.type);
    }
}

Expected<ValueId> Rewriter::keep(const Node &node) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(mapped_[id]);
    return to_.node(node.op->name, std::move(inputs), node.attributes, node.layer);
}

Expected<Graph> Rewriter::finish() {
    carry(static_cast<ValueId>(from_.values.size()));
    for (const GraphOutput &output : from_.outputs) to_.output(output.name, mapped_[output.value]);
    return drop_unused(to_.graph());
}

Expected<ValueId> copy_into(Builder &to, const Graph &from, ValueId value,
                            std::map<ValueId, ValueId> &mapped) {
    if (const auto found = mapped.find(value); found != mapped.end()) return found->second;
    if (const Constant *constant = from.constant(value))
        return mapped[value] = to.constant(*constant, from.type(value));
    const Node *node = from.producer(value);
    if (!node) return Status::internal(fmt::format("copying %{} reached a graph input", value));
    std::vector<ValueId> inputs;
    for (const ValueId id : node->inputs) {
        LW_ASSIGN(const ValueId copy, copy_into(to, from, id, mapped));
        inputs.push_back(copy);
    }
    LW_ASSIGN(mapped[value], to.node(node->op->name, std::move(inputs), node->attributes, node->layer));
    return mapped[value];
}

Graph drop_unused(const Graph &graph) {
    std::vector<bool> used(graph.values.size());
    for (const GraphInput &input : graph.inputs) used[input.value] = true; // inputs are the model's interface
    for (const GraphOutput &output : graph.outputs) used[output.value] = true;
    for (size_t n = graph.nodes.size(); n-- > 0;)
        if (used[graph.nodes[n].output])
            for (const ValueId id : graph.nodes[n].inputs) used[id] = true;

    Graph out{.name = graph.name,
              .inputs = {},
              .constants = {},
              .nodes = {},
              .values = {},
              .outputs = {},
              .certificates = graph.certificates};
    std::vector<ValueId> mapped(graph.values.size());
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        if (!used[id]) continue;
        const auto to = mapped[id] = static_cast<ValueId>(out.values.size());
        Value value = graph.values[id];
        switch (value.kind) {
        case Value::Kind::input:
            out.inputs.push_back(
                graph.inputs[std::exchange(value.index, static_cast<uint32_t>(out.inputs.size()))]);
            out.inputs.back().value = to;
            break;
        case Value::Kind::constant:
            out.constants.push_back(
                graph.constants[std::exchange(value.index, static_cast<uint32_t>(out.constants.size()))]);
            break;
        case Value::Kind::node:
            out.nodes.push_back(
                graph.nodes[std::exchange(value.index, static_cast<uint32_t>(out.nodes.size()))]);
            for (ValueId &input : out.nodes.back().inputs) input = mapped[input];
            out.nodes.back().output = to;
            break;
        }
        out.values.push_back(std::move(value));
    }
    for (const GraphOutput &output : graph.outputs)
        out.outputs.push_back({output.name, mapped[output.value]});
    return out;
}

} // namespace longwave::ir
