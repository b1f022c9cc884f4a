// batch_norm, layer_norm, transposed_layer_norm, rms_norm: the op of the same name; scale_norm:
// rms_norm with one weight for all features.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {
namespace {

Expected<Flow> batch_norm(Lowering &lowering, const Layer &layer, Flow input) {
    // An image has one mean and variance a channel, as BatchNorm2d; everything else one a feature.
    const auto dims = lowering.type(input).dims;
    const uint32_t channels = input.form == Form::image ? dims.back() : lowering.width(input);
    std::vector<ir::ValueId> operands = {input.value};
    for (const char *parameter : {"weight", "bias", "running_mean", "running_var"})
        operands.push_back(lowering.weight(layer, parameter, {channels}));
    if (const package::Tensor *variance = lowering.find(layer, "running_var")) {
        for (size_t i = 0; i < variance->data.size(); ++i) {
            if (variance->data[i] + number(layer, "eps") > 0) continue;
            lowering.problem(layer, "",
                             "a variance above zero in " + package::in_quotes(layer.key("running_var")),
                             std::to_string(variance->data[i]) + " at index " + std::to_string(i));
            break;
        }
    }
    return lowering.node(layer, "batch_norm", std::move(operands), {{"eps", number(layer, "eps")}},
                         input.form);
}

} // namespace

Expected<Flow> lower_norm(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const Flow input = inputs[0];
    if (layer.type == "batch_norm") return batch_norm(lowering, layer, input);
    const auto dims = lowering.type(input).dims;
    if (input.form == Form::image && dims.size() > 1) {
        return lowering.failure(layer, "", "features", "an image of shape " + package::shape_text(dims),
                                "put flatten before it, or use batch_norm");
    }
    const uint32_t width = lowering.width(input);
    if (layer.type == "transposed_layer_norm") {
        const ir::ValueId m = lowering.weight(layer, "m", {1}, {{1}, {}}),
                          s = lowering.weight(layer, "s", {1}, {{1}, {}});
        return lowering.node(layer, layer.type, {input.value, m, s}, {}, input.form);
    }
    if (layer.type == "scale_norm") {
        const std::vector<double> g = lowering.numbers(layer, "scalar", {1}, {{1}, {}});
        const ir::ValueId weight = lowering.constant(layer.key("scalar") + ".each", {width},
                                                     std::vector(width, g.empty() ? 1.0 : g[0]));
        return lowering.node(layer, "rms_norm", {input.value, weight}, {{"eps", number(layer, "eps")}},
                             input.form);
    }
    std::vector<ir::ValueId> operands = {input.value, lowering.weight(layer, "weight", {width})};
    if (layer.type == "layer_norm") operands.push_back(lowering.weight(layer, "bias", {width}));
    return lowering.node(layer, layer.type, std::move(operands), {{"eps", number(layer, "eps")}}, input.form);
}

} // namespace longwave::compiler::layers
