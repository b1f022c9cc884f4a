// conv1d: a conv2d over one frequency whose channels are the features.
#include "compiler/layers/layers.h"
#include "compiler/ops/conv/separate.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_conv1d(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t channels, feature_width(lowering, layer, inputs[0]));
    const uint32_t out = integer(layer, "out_channels"), kernel = integer(layer, "kernel"),
                   groups = integer(layer, "groups"), stride = integer(layer, "stride"),
                   dilation = integer(layer, "dilation");
    const bool bias = flag(layer, "bias");
    constexpr uint32_t most_stride = 4096,
                       most_dilation = 1 << 16; // of the kernel (schedules/conv/conv2d.cc)
    // A filter for each channel becomes a long convolution if it is long (merge_branches), and so
    // does one for each pair of channels (separate_channels).
    const bool each = groups == channels && (out == channels || channels == 1),
               pairs = groups == 1 && uint64_t{out} * channels <= ir::most_separated_pairs;
    const uint32_t most_taps = stride == 1 && (each || pairs) ? 1 << 20 : 1 << 16;
    if (dilation > most_dilation)
        return lowering.failure(layer, "dilation", "at most " + std::to_string(most_dilation),
                                std::to_string(dilation));
    if (const uint64_t span = (uint64_t{kernel} - 1) * dilation + 1; span > most_taps)
        return lowering.failure(layer, "kernel",
                                "at most " + std::to_string(most_taps) + " taps" +
                                    (dilation > 1 ? " with its dilation" : ""),
                                std::to_string(span), "a short_long layer takes longer kernels");
    if (stride > most_stride)
        return lowering.failure(layer, "stride", "at most " + std::to_string(most_stride),
                                std::to_string(stride),
                                "put a second conv1d with the rest of the stride after it");
    if (groups != 1 && groups != channels)
        return lowering.failure(layer, "groups",
                                "1 or the " + std::to_string(channels) + " features of the input",
                                std::to_string(groups));
    if (out % groups)
        return lowering.failure(layer, "out_channels",
                                "a multiple of the " + std::to_string(groups) + " groups",
                                std::to_string(out));

    const uint32_t in = channels / groups;
    std::vector<ir::ValueId> operands = {
        inputs[0].value, lowering.weight(layer, "weight", {out, in, kernel, 1}, {{out, in, kernel}})};
    if (bias) operands.push_back(lowering.weight(layer, "bias", {out}));
    ir::Attributes attributes{{"stride_t", int64_t{stride}},
                              {"stride_f", int64_t{1}},
                              {"groups", int64_t{groups}},
                              {"bias", int64_t{bias}},
                              {"frequency", int64_t{0}}};
    if (dilation > 1) attributes["dilation"] = int64_t{dilation};
    return lowering.node(layer, "conv2d", std::move(operands), std::move(attributes), Form::features);
}

// conv2d: the op of the same name. A list of features is read as that many frequencies of one
// channel.
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

// patch_embedding: a convolution whose patches do not overlap, as a matrix. A row holds the pixels
// of one patch in the order of the weight (colour, line, column).
Expected<Flow> lower_patch_embedding(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    const uint32_t out = integer(layer, "out_features"), lines = layer.attributes.at("patch")[0],
                   columns = layer.attributes.at("patch")[1];
    const uint64_t pixels = uint64_t{lines} * columns;
    if (width % pixels)
        return lowering.failure(
            layer, "patch", "patches whose pixels divide the " + std::to_string(width) + " features of a row",
            std::to_string(lines) + " x " + std::to_string(columns) + " pixels",
            "a row is one patch: its colours, their lines, their columns");
    const auto colours = static_cast<uint32_t>(width / pixels);
    const bool bias = flag(layer, "bias");
    std::vector<ir::ValueId> operands = {
        inputs[0].value, lowering.weight(layer, "weight", {out, width}, {{out, colours, lines, columns}})};
    if (bias) operands.push_back(lowering.weight(layer, "bias", {out}));
    return lowering.node(layer, "linear", std::move(operands), {{"bias", int64_t{bias}}}, Form::features);
}

} // namespace longwave::compiler::layers
