// relu, gelu, silu, sigmoid, tanh, softmax, log_softmax: the op of the same name. They keep the
// form of a row.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_activation(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    return lowering.node(layer, layer.type, {inputs[0].value}, {}, inputs[0].form);
}

} // namespace longwave::compiler::layers
