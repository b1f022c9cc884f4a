#include "compiler/ir/verify.h"
#include "compiler/ir/op.h"
#include <fmt/format.h>
#include <set>

namespace longwave::ir {

namespace {

Status broken(const std::string &where, const std::string &rule) {
    return Status::internal(fmt::format("graph: {}: {}", where, rule));
}

// Every id names one entry, and that entry is of the right kind and points back.
Status check_values(const Graph &graph) {
    const size_t expected = graph.inputs.size() + graph.constants.size() + graph.nodes.size();
    if (graph.values.size() != expected)
        return broken("values", fmt::format("expected one producer each: {} producers, {} values", expected,
                                            graph.values.size()));
    std::set<std::pair<Value::Kind, uint32_t>> seen;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value &value = graph.values[id];
        const size_t limit = value.kind == Value::Kind::input      ? graph.inputs.size()
                             : value.kind == Value::Kind::constant ? graph.constants.size()
                                                                   : graph.nodes.size();
        if (value.index >= limit)
            return broken(fmt::format("%{}", id),
                          fmt::format("index {} of {} is out of range", value.index, limit));
        if (!seen.insert({value.kind, value.index}).second)
            return broken(fmt::format("%{}", id), "two values name one producer");
        for (const uint32_t d : value.type.dims)
            if (d == 0) return broken(fmt::format("%{}", id), "has an extent of zero");
    }
    return Status::ok();
}

Status check_inputs(const Graph &graph) {
    std::set<std::string> names;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        const GraphInput &input = graph.inputs[i];
        const std::string where = fmt::format("input \"{}\"", input.name);
        if (input.name.empty() || !names.insert(input.name).second)
            return broken(where, "names must be there and differ");
        if (input.value >= graph.values.size()) return broken(where, "its value is out of range");
        const Value &value = graph.values[input.value];
        if (value.kind != Value::Kind::input || value.index != i)
            return broken(where, fmt::format("%{} is not its value", input.value));
        if (value.type.clock.timeless()) return broken(where, "has no time axis");
        const bool tokens = input.kind == GraphInput::Kind::tokens;
        if (tokens != (value.type.elem == Elem::i32))
            return broken(where, "token inputs are i32, others f32");
    }
    return Status::ok();
}

Status check_constants(const Graph &graph) {
    for (const Value &value : graph.values) {
        if (value.kind != Value::Kind::constant) continue;
        const Constant &constant = graph.constants[value.index];
        const std::string where = fmt::format("constant \"{}\"", constant.key);
        if (!value.type.clock.timeless() || value.type.elem != Elem::f32)
            return broken(where, "expected float32 without a time axis");
        if (constant.data.empty()) return broken(where, "has no data");
        if (constant.data.size() != value.type.width())
            return broken(where, fmt::format("expected {} elements, found {}", value.type.width(),
                                             constant.data.size()));
    }
    return Status::ok();
}

Status check_nodes(const Graph &graph) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node &node = graph.nodes[n];
        if (!node.op || find_op(node.op->name) != node.op)
            return broken(fmt::format("node {}", n), "its op is not in the table");
        const std::string where = fmt::format("node {} ({}, layer {})", n, node.op->name, node.layer);
        if (node.output >= graph.values.size()) return broken(where, "its output is out of range");
        const Value &output = graph.values[node.output];
        if (output.kind != Value::Kind::node || output.index != n)
            return broken(where, fmt::format("%{} is not its output", node.output));
        std::vector<Type> types;
        for (const ValueId id : node.inputs) {
            if (id >= graph.values.size()) return broken(where, fmt::format("input %{} does not exist", id));
            if (graph.values[id].kind == Value::Kind::node && graph.values[id].index >= n)
                return broken(where, fmt::format("reads %{}, which is computed later", id));
            types.push_back(graph.type(id));
        }
        const auto type = result_type(node, types);
        if (!type) return broken(where, type.status().message());
        if (*type != output.type) return broken(where, "its type differs from what the op infers");
    }
    return Status::ok();
}

} // namespace

Status verify(const Graph &graph) {
    LW_TRY(check_values(graph));
    LW_TRY(check_inputs(graph));
    LW_TRY(check_constants(graph));
    LW_TRY(check_nodes(graph));
    if (graph.outputs.empty()) return broken("outputs", "there are none");
    std::set<std::string> names;
    for (const GraphOutput &output : graph.outputs) {
        const std::string where = fmt::format("output \"{}\"", output.name);
        if (output.name.empty() || !names.insert(output.name).second)
            return broken(where, "names must be there and differ");
        if (output.value >= graph.values.size()) return broken(where, "its value is out of range");
    }
    return Status::ok();
}

} // namespace longwave::ir
