// mean, sum, first, last: the op `mean` with that mode. mean_window: the op of the same name. The
// caller of a run gives the valid length, so both values of `lengths` (pool over the true length,
// or over all rows) become the same op.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_pooling(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    if (lowering.type(inputs[0]).clock.timeless())
        return lowering.failure(layer, "", "a sequence", "one row for the whole sequence",
                                "it was pooled before");
    return lowering.node(layer, "mean", {inputs[0].value}, {{"mode", layer.type}}, inputs[0].form);
}

Expected<Flow> lower_mean_window(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    if (lowering.type(inputs[0]).clock.timeless())
        return lowering.failure(layer, "", "a sequence", "one row for the whole sequence",
                                "it was pooled before");
    return lowering.node(layer, "mean_window", {inputs[0].value},
                         {{"frames", int64_t{integer(layer, "frames")}}}, inputs[0].form);
}

// pair_features: [u, v, u − v, u⊙v] of two pooled sequences, 4·width features.
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
