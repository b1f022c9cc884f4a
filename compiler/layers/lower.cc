#include "compiler/layers/lower.h"
#include "compiler/ir/op.h"
#include "compiler/layers/lowering.h"
#include "formats/package/package.h"
#include <optional>

namespace longwave::compiler {
namespace {

using layers::Flow;
using layers::Form;
using layers::Lowering;
using package::Layer;
using package::Node;

// The nodes of a version 2 package: each becomes one node of the graph, or the nodes of its layer.

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

// Defines the address of every node. A node without op is the next of `layers`. Reports every
// unknown op, missing tensor and input that does not fit. A node behind a failed one is not judged.
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

Flow add_input(ir::Builder &builder, const package::Input &input) {
    ir::GraphInput to{.name = input.name, .sample_rate = input.sample_rate, .vocabulary = input.vocabulary};
    ir::Type type{.dims = {1}, .clock = {1, 1}};
    switch (input.kind) {
    case package::Input::Kind::audio: to.kind = ir::GraphInput::Kind::audio; break;
    case package::Input::Kind::features:
        to.kind = ir::GraphInput::Kind::features;
        type.dims = {input.width};
        break;
    case package::Input::Kind::tokens:
        to.kind = ir::GraphInput::Kind::tokens;
        type.elem = ir::Elem::i32;
        break;
    }
    return {builder.input(std::move(to), std::move(type))};
}

std::vector<bool> depends_on_inputs(const ir::Graph &graph) {
    std::vector<bool> varies;
    for (const ir::Value &value : graph.values) {
        bool here = value.kind == ir::Value::Kind::input;
        if (value.kind == ir::Value::Kind::node)
            for (const ir::ValueId id : graph.nodes[value.index].inputs) here = here || varies[id];
        varies.push_back(here);
    }
    return varies;
}

// Labels name the classes of an output, so one must be that wide; decision settings work on one of
// these.
void check_labels(const package::Package &package, const ir::Graph &graph, package::Problems &problems) {
    if (package.labels.empty()) return;
    std::string widths;
    bool any = false;
    for (const auto &output : graph.outputs) {
        const uint32_t width = graph.type(output.value).width();
        any = any || width == package.labels.size();
        widths +=
            (widths.empty() ? "" : ", ") + package::in_quotes(output.name) + " is " + std::to_string(width);
        if (package.has_decision && output.name == package.decision.output &&
            width != package.labels.size()) {
            problems.add("decision.output",
                         "an output as wide as the " + std::to_string(package.labels.size()) + " labels",
                         package::in_quotes(output.name) + " of width " + std::to_string(width));
        }
    }
    if (!any)
        problems.add("labels", "as many labels as an output is wide (" + widths + ")",
                     std::to_string(package.labels.size()));
}

// The rows of an audio output are samples, so their rate follows from that of the input.
void check_audio(const package::Package &package, const ir::Graph &graph, package::Problems &problems) {
    for (size_t i = 0; i < package.outputs.size(); i++) {
        const package::Output &output = package.outputs[i];
        if (!output.audio) continue;
        const std::string path = package::element("outputs", i);
        const ir::Type &type = graph.type(graph.outputs[i].value);
        const uint32_t width = type.width(), ticks = package::ticks_per_second(package);
        const std::string rows = std::to_string(width) + " samples per row, " +
                                 std::to_string(type.clock.num) + " rows in " +
                                 std::to_string(type.clock.den) + " ticks";
        if (type.clock.timeless()) {
            problems.add(path + ".kind", "an output with rows over time", "one row for the whole sequence",
                         "audio has samples for every moment");
            continue;
        }
        if (!ticks) {
            if (!output.sample_rate)
                problems.add(path + ".sample_rate", "this key, as no input says how many ticks a second has",
                             "no such key");
            continue;
        }
        const auto rate = package::samples_per_second(ticks, width, type.clock.num, type.clock.den);
        if (!rate || *rate > 1'000'000)
            problems.add(path + ".kind", "rows with a whole number of samples per second, at most 1000000",
                         rows + ", " + std::to_string(ticks) + " ticks per second");
        else if (output.sample_rate && output.sample_rate != *rate)
            problems.add(path + ".sample_rate",
                         std::to_string(*rate) + " (" + rows + ", " + std::to_string(ticks) +
                             " ticks per second)",
                         std::to_string(output.sample_rate), "leave the key out");
    }
}

} // namespace

Expected<ir::Graph> lower(const package::Package &package) {
    if (package.inputs.empty() || package.outputs.empty())
        return Status::internal("lower: a package without inputs or outputs");
    ir::Builder builder(package.name);
    layers::Lowering lowering(package, builder);
    for (const auto &input : package.inputs) lowering.define(input.name, add_input(builder, input));
    if (package.graph.empty()) lowering.chain(package.layers, *lowering.at(package.inputs[0].name));
    else lower_nodes(lowering, package.graph, package.layers);
    const std::vector<bool> varies = depends_on_inputs(builder.graph());
    for (const auto &output : package.outputs) {
        const Flow *from = lowering.at(output.from);
        if (from && varies[from->value]) builder.output(output.name, from->value);
        else if (from || !lowering.problems().any())
            lowering.problems().add("outputs", "the name of a layer, node or input that depends on an input",
                                    package::in_quotes(output.from));
    }
    // After a failure the widths of outputs are guesses.
    if (!lowering.problems().any()) {
        check_labels(package, builder.graph(), lowering.problems());
        check_audio(package, builder.graph(), lowering.problems());
    }
    LW_TRY(lowering.problems().status());
    return ir::drop_unused(builder.graph());
}

} // namespace longwave::compiler
