// add: two rows of one width, element by element.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_add(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const ir::Type a = lowering.type(inputs[0]), b = lowering.type(inputs[1]);
    for (const ir::Type &type : {a, b})
        if (type.elem != ir::Elem::f32)
            return lowering.failure(layer, "inputs", "rows of features", "token ids",
                                    "an embedding turns ids into rows");
    if (a.dims != b.dims || a.clock != b.clock)
        return lowering.failure(layer, "inputs", "rows of one shape and rate",
                                package::shape_text(a.dims) + " and " + package::shape_text(b.dims));
    return lowering.node(layer, "add", {inputs[0].value, inputs[1].value}, {}, inputs[0].form);
}

} // namespace longwave::compiler::layers
