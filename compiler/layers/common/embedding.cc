// embedding: the row of a token id in the table, times `scale`.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

// Ids are checked where they enter, against the input's vocabulary: it must not be the larger one.
void check_vocabulary(Lowering &lowering, const Layer &layer, Flow input) {
    const uint32_t vocabulary = integer(layer, "vocabulary");
    if (const auto *from = lowering.graph_input(input); from && from->vocabulary > vocabulary)
        lowering.problem(layer, "vocabulary",
                         "at least the " + std::to_string(from->vocabulary) + " ids of input \"" +
                             from->name + "\"",
                         std::to_string(vocabulary));
}

Expected<Flow> scaled(Lowering &lowering, const Layer &layer, Flow x) {
    const double scale = number(layer, "scale");
    if (scale == 1) return x;
    const uint32_t width = lowering.width(x);
    const ir::ValueId factor = lowering.constant(layer.address + ".scale", {width},
                                                 std::vector<double>(width, scale)),
                      zero = lowering.constant("zeros", {width}, std::vector<double>(width, 0.0));
    return lowering.node(layer, "affine", {x.value, factor, zero}, {}, Form::features);
}

Expected<Flow> lower_embedding(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t vocabulary = integer(layer, "vocabulary"), width = integer(layer, "width");
    check_vocabulary(lowering, layer, inputs[0]);
    const ir::ValueId table = lowering.weight(layer, "weight", {vocabulary, width});
    if (lowering.type(inputs[0]).elem != ir::Elem::i32)
        return lowering.failure(layer, "", "token ids", "rows of features",
                                "read an input of kind \"tokens\"");
    LW_ASSIGN(const Flow row,
              lowering.node(layer, "embedding", {inputs[0].value, table}, {}, Form::features));
    return scaled(lowering, layer, row);
}

} // namespace longwave::compiler::layers
