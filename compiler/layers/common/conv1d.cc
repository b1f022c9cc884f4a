// conv1d: a conv2d over one frequency whose channels are the features.
#include "compiler/layers/layers.h"
#include "compiler/ops/conv/separate.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_conv1d(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t channels, feature_width(lowering, layer, inputs[0]));
    const uint32_t out = integer(layer, "out_channels"), kernel = integer(layer, "kernel"),
                   groups = integer(layer, "groups"), stride = integer(layer, "stride");
    const bool bias = flag(layer, "bias");
    constexpr uint32_t most_stride = 4096; // of the kernel (schedules/conv/conv2d.cc)
    // A filter for each channel becomes a long convolution if it is long (merge_branches), and so
    // does one for each pair of channels (separate_channels).
    const bool each = groups == channels && (out == channels || channels == 1),
               pairs = groups == 1 && uint64_t{out} * channels <= ir::most_separated_pairs;
    const uint32_t most_taps = stride == 1 && (each || pairs) ? 1 << 20 : 1 << 16;
    if (kernel > most_taps)
        return lowering.failure(layer, "kernel", "at most " + std::to_string(most_taps) + " taps",
                                std::to_string(kernel), "a short_long layer takes longer kernels");
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
    return lowering.node(layer, "conv2d", std::move(operands),
                         {{"stride_t", int64_t{stride}},
                          {"stride_f", int64_t{1}},
                          {"groups", int64_t{groups}},
                          {"bias", int64_t{bias}},
                          {"frequency", int64_t{0}}},
                         Form::features);
}

} // namespace longwave::compiler::layers
