// gated_mlp: (activation(x W1) ⊙ x W2) W3, the GLU of language models.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_gated_mlp(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t in = lowering.width(inputs[0]), hidden = integer(layer, "hidden");
    const bool bias = flag(layer, "bias");
    const auto project = [&](const std::string &name, ir::ValueId x, uint32_t from, uint32_t to) {
        std::vector<ir::ValueId> operands = {x, lowering.weight(layer, name + ".weight", {to, from})};
        if (bias) operands.push_back(lowering.weight(layer, name + ".bias", {to}));
        return lowering.node(layer, "linear", std::move(operands), {{"bias", int64_t{bias}}}, Form::features);
    };
    LW_ASSIGN(Flow gate, project("w1", inputs[0].value, in, hidden));
    const std::string activation = layer.attributes.at("activation");
    LW_ASSIGN(gate, lowering.node(layer, activation, {gate.value}, {}, Form::features));
    LW_ASSIGN(const Flow value, project("w2", inputs[0].value, in, hidden));
    LW_ASSIGN(const Flow product, lowering.node(layer, "mul", {value.value, gate.value}, {}, Form::features));
    return project("w3", product.value, hidden, in);
}

} // namespace longwave::compiler::layers
