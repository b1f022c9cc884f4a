// patch_embedding: a convolution whose patches do not overlap, as a matrix. A row holds the pixels
// of one patch in the order of the weight (colour, line, column).
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

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
