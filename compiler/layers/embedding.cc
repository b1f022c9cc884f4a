// embedding: a row of the table for each token id.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_embedding(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t vocabulary = integer(layer, "vocabulary"), width = integer(layer, "width");
    // Ids are checked where they enter, against the input's vocabulary: it must not be the larger one.
    if (const auto *input = lowering.graph_input(inputs[0]); input && input->vocabulary > vocabulary) {
        lowering.problem(layer, "vocabulary",
                         "at least the " + std::to_string(input->vocabulary) + " ids of input \"" +
                             input->name + "\"",
                         std::to_string(vocabulary));
    }
    const ir::ValueId table = lowering.weight(layer, "weight", {vocabulary, width});
    if (lowering.type(inputs[0]).elem != ir::Elem::i32)
        return lowering.failure(layer, "", "token ids", "rows of features",
                                "read an input of kind \"tokens\"");
    return lowering.node(layer, "embedding", {inputs[0].value, table}, {}, Form::features);
}

} // namespace longwave::compiler::layers
