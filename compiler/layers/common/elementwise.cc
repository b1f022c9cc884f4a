// Functions of one value, softmax and log_softmax: the op of the same name, with the attributes of
// the layer. They keep the form of a row.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_activation(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    ir::Attributes numbers;
    for (const auto &[name, value] : layer.attributes.items()) numbers[name] = value.get<double>();
    return lowering.node(layer, layer.type, {inputs[0].value}, numbers, inputs[0].form);
}

// add: two rows of one width, element by element.
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

// glu: the first half of the features times the sigmoid of the second half.
Expected<Flow> lower_glu(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    if (width % 2)
        return lowering.failure(layer, "", "an even number of features", std::to_string(width),
                                "the layer before it must give values and gates");
    return lowering.node(layer, "glu", {inputs[0].value}, {}, Form::features);
}

// flatten: no op. From here on (frequency, channel) is one list of features with index f·channels +
// c.
Expected<Flow> lower_flatten(Lowering &lowering, const Layer &, std::span<const Flow> inputs) {
    return Flow{inputs[0].value, lowering.type(inputs[0]).dims.size() == 1 ? Form::features : Form::flat};
}

} // namespace longwave::compiler::layers
