// pair_features: [u, v, u − v, u⊙v] of two pooled sequences, 4·width features.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_pair_features(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    if (inputs.size() != 2)
        return lowering.failure(layer, "inputs", "two inputs", std::to_string(inputs.size()));
    for (const Flow &input : inputs) {
        if (!lowering.type(input).clock.timeless())
            return lowering.failure(layer, "inputs", "two pooled sequences", "a sequence",
                                    "put mean, sum, first or last before it");
    }
    if (lowering.width(inputs[0]) != lowering.width(inputs[1])) {
        return lowering.failure(layer, "inputs", "two inputs of one width",
                                std::to_string(lowering.width(inputs[0])) + " and " +
                                    std::to_string(lowering.width(inputs[1])));
    }
    return lowering.node(layer, "pair_features", {inputs[0].value, inputs[1].value}, {}, Form::flat);
}

} // namespace longwave::compiler::layers
