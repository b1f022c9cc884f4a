// conv2d: the op of the same name. A list of features is read as that many frequencies of one
// channel.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_conv2d(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const Flow input = inputs[0];
    const auto dims = lowering.type(input).dims;
    if (input.form == Form::flat)
        return lowering.failure(layer, "", "features or an image",
                                "a flattened row of shape " + package::shape_text(dims),
                                "read the layer before flatten");
    const bool one_frequency = input.form == Form::image && dims.size() == 1;
    const uint32_t channels = dims.size() == 2 ? dims[1] : one_frequency ? dims[0] : 1;

    const uint32_t out = integer(layer, "out_channels"), groups = integer(layer, "groups");
    const bool bias = flag(layer, "bias");
    if (groups != 1 && groups != channels) {
        return lowering.failure(layer, "groups",
                                channels == 1
                                    ? "1 (the input has one channel)"
                                    : "1 or the " + std::to_string(channels) + " channels of the input",
                                std::to_string(groups));
    }
    if (out % groups)
        return lowering.failure(layer, "out_channels",
                                "a multiple of the " + std::to_string(groups) + " groups",
                                std::to_string(out));
    const auto kernel = layer.attributes.at("kernel").get<std::vector<uint32_t>>(),
               stride = layer.attributes.at("stride").get<std::vector<uint32_t>>();

    std::vector<ir::ValueId> operands = {
        input.value, lowering.weight(layer, "weight", {out, channels / groups, kernel[0], kernel[1]})};
    if (bias) operands.push_back(lowering.weight(layer, "bias", {out}));
    return lowering.node(layer, "conv2d", std::move(operands),
                         {{"stride_t", int64_t{stride[0]}},
                          {"stride_f", int64_t{stride[1]}},
                          {"groups", int64_t{groups}},
                          {"bias", int64_t{bias}},
                          {"frequency", int64_t{!one_frequency}}},
                         Form::image);
}

} // namespace longwave::compiler::layers
