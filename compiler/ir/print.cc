// The printer.
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include <fmt/format.h>

namespace longwave::ir {

namespace {

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 32)
            out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        else out += c;
    }
    return out + '"';
}

// Shortest text that reads back as the same double; always with a point or an exponent, so that it
// is told from an integer.
std::string number(double value) {
    std::string out = fmt::format("{}", value);
    return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::string attributes_text(const Attributes &attributes) {
    std::string out;
    for (const auto &[name, value] : attributes) {
        out += (out.empty() ? "" : ", ") + name + "=";
        if (const auto *i = std::get_if<int64_t>(&value)) out += fmt::format("{}", *i);
        if (const auto *d = std::get_if<double>(&value)) out += number(*d);
        if (const auto *s = std::get_if<std::string>(&value)) out += quoted(*s);
    }
    return out.empty() ? "" : " {" + out + "}";
}

std::string layer_text(const std::string &layer) {
    const bool plain =
        !layer.empty() &&
        layer.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/[]") ==
            std::string::npos;
    return layer.empty() ? "" : "   ; layer " + (plain ? layer : quoted(layer));
}

std::string value_text(const Graph &graph, ValueId id) {
    const Value &value = graph.values[id];
    if (value.kind == Value::Kind::constant)
        return fmt::format("const {} : [{}]", quoted(graph.constants[value.index].key),
                           fmt::join(value.type.dims, ","));
    if (value.kind == Value::Kind::input) {
        const GraphInput &input = graph.inputs[value.index];
        std::string out = fmt::format("input {} {}", quoted(input.name),
                                      GraphInput::kinds[static_cast<size_t>(input.kind)]);
        if (input.sample_rate) out += fmt::format(" rate={}", input.sample_rate);
        if (input.vocabulary) out += fmt::format(" vocabulary={}", input.vocabulary);
        return out + " : " + print(value.type);
    }
    const Node &node = graph.nodes[value.index];
    std::string inputs;
    for (const ValueId input : node.inputs) inputs += (inputs.empty() ? "%" : ", %") + std::to_string(input);
    return fmt::format("{}({}){} : {}{}", node.op->name, inputs, attributes_text(node.attributes),
                       print(value.type), layer_text(node.layer));
}

} // namespace

std::string print(const Type &type) {
    std::string out = fmt::format("{}[{}] @{}/{}", name_of(type.elem), fmt::join(type.dims, ","),
                                  type.clock.num, type.clock.den);
    out += type.causal ? " causal" : " noncausal";
    if (type.delay) out += fmt::format(" delay={}", type.delay);
    return type.whole > 1 ? out + fmt::format(" whole={}", type.whole) : out;
}

std::string print(const Graph &graph) {
    std::string out = fmt::format("graph {}\n", quoted(graph.name));
    for (ValueId id = 0; id < graph.values.size(); ++id)
        out += fmt::format("%{} = {}\n", id, value_text(graph, id));
    for (const GraphOutput &output : graph.outputs)
        out += fmt::format("output {} %{}\n", quoted(output.name), output.value);
    for (const Certificate &c : graph.certificates)
        out += fmt::format("certificate {} {} {} {}\n", quoted(c.pass), quoted(c.layer), quoted(c.what),
                           number(c.error));
    return out;
}

} // namespace longwave::ir
