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

} // namespace longwave::compiler::layers
