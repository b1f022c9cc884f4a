// linear: linear(x, weight, bias). An image counts as its features, as after `flatten`.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_linear(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t out = integer(layer, "out_features");
    const bool bias = flag(layer, "bias");
    std::vector<ir::ValueId> operands = {inputs[0].value,
                                         lowering.weight(layer, "weight", {out, lowering.width(inputs[0])})};
    if (bias) operands.push_back(lowering.weight(layer, "bias", {out}));
    ir::Attributes attributes{{"bias", int64_t{bias}}};
    // A layer that is built as a part of another may not say it.
    if (const auto stored = layer.attributes.value("weights", nlohmann::json()); !stored.is_null())
        attributes["weights"] = stored.get<std::string>();
    return lowering.node(layer, "linear", std::move(operands), std::move(attributes), Form::features);
}

} // namespace longwave::compiler::layers
