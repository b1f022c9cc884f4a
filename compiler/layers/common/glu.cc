// glu: the first half of the features times the sigmoid of the second half.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_glu(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    if (width % 2)
        return lowering.failure(layer, "", "an even number of features", std::to_string(width),
                                "the layer before it must give values and gates");
    return lowering.node(layer, "glu", {inputs[0].value}, {}, Form::features);
}

} // namespace longwave::compiler::layers
