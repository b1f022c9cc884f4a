// linear: linear(x, weight, bias). An image is read as a list of features, as after `flatten`. With
// `blocks` the matrix is block-diagonal: block_linear.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {
namespace {

Expected<Flow> lower_blocks(Lowering &lowering, const Layer &layer, Flow x, uint32_t blocks) {
    LW_ASSIGN(const uint32_t in, feature_width(lowering, layer, x));
    const uint32_t out = integer(layer, "out_features");
    for (const auto &[what, count] : {std::pair("features of the input", in), std::pair("out_features", out)})
        if (count % blocks)
            return lowering.failure(layer, "blocks", "a divisor of the " + std::to_string(count) + " " + what,
                                    std::to_string(blocks));
    if (!layer.attributes.at("weights").is_null())
        return lowering.failure(layer, "weights", "null with \"blocks\"",
                                package::in_quotes(layer.attributes.at("weights").get<std::string>()));
    const bool bias = flag(layer, "bias");
    std::vector<ir::ValueId> operands = {
        x.value, lowering.weight(layer, "weight", {blocks, out / blocks, in / blocks})};
    if (bias) operands.push_back(lowering.weight(layer, "bias", {out}));
    return lowering.node(layer, "block_linear", std::move(operands),
                         {{"bias", int64_t{bias}}, {"first", int64_t{0}}}, Form::features);
}

} // namespace

Expected<Flow> lower_linear(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    // A layer that is built as a part of another may not say it, nor how its weights are stored.
    if (const auto blocks = layer.attributes.value("blocks", 0u))
        return lower_blocks(lowering, layer, inputs[0], blocks);
    const uint32_t out = integer(layer, "out_features");
    const bool bias = flag(layer, "bias");
    std::vector<ir::ValueId> operands = {inputs[0].value,
                                         lowering.weight(layer, "weight", {out, lowering.width(inputs[0])})};
    if (bias) operands.push_back(lowering.weight(layer, "bias", {out}));
    ir::Attributes attributes{{"bias", int64_t{bias}}};
    if (const auto stored = layer.attributes.value("weights", nlohmann::json()); !stored.is_null())
        attributes["weights"] = stored.get<std::string>();
    return lowering.node(layer, "linear", std::move(operands), std::move(attributes), Form::features);
}

// gated_mlp: (activation(x W1) ⊙ x W2) W3, the GLU of language models.
Expected<Flow> lower_gated_mlp(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t in = lowering.width(inputs[0]), hidden = integer(layer, "hidden");
    const bool bias = flag(layer, "bias");
    LW_ASSIGN(Flow gate, lowering.product(layer, "w1", inputs[0], hidden, bias));
    const std::string activation = layer.attributes.at("activation");
    LW_ASSIGN(gate, lowering.node(layer, activation, {gate.value}, {}, Form::features));
    LW_ASSIGN(const Flow value, lowering.product(layer, "w2", inputs[0], hidden, bias));
    LW_ASSIGN(const Flow product, lowering.node(layer, "mul", {value.value, gate.value}, {}, Form::features));
    return lowering.product(layer, "w3", product, in, bias);
}

} // namespace longwave::compiler::layers
