// Functions of one value, softmax and log_softmax: the op of the same name, with the attributes of
// the layer. They keep the form of a row.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_activation(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    ir::Attributes numbers;
    for (const auto &[name, value] : layer.attributes.items()) numbers[name] = value.get<double>();
    return lowering.node(layer, layer.type, {inputs[0].value}, numbers, inputs[0].form);
}

} // namespace longwave::compiler::layers
