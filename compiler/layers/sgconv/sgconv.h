// The short-long convolution: a layer of its own, and a part of a block.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

// Of rows of plain features, by the attributes and parameters of `layer` (short_long or chela).
Expected<Flow> short_long(Lowering &lowering, const Layer &layer, Flow x);

} // namespace longwave::compiler::layers
