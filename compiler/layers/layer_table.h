// The table of layers: how each layer type of the model package becomes ops. Attributes and
// parameter names are in formats/package/layer_types.h.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

struct LayerDef {
    const char *type;
    // Builds the layer's ops on `inputs` (two for pair_features, else one) and returns the result.
    // Problems with weights and attributes go to `lowering`, and the work continues. It returns a
    // failure only if no graph can be built.
    Expected<Flow> (*lower)(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs);
};

const LayerDef *find_layer(const std::string &type); // null when unknown
std::span<const LayerDef> all_layers();

} // namespace longwave::compiler::layers
