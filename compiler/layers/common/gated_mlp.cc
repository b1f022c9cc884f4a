// gated_mlp: (activation(x W1) ⊙ x W2) W3, the GLU of language models.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

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
