// Computes every node whose inputs are all constants, by its reference loop in float64.
// Why here: first, so that later passes see weights and not sums of weights.
// Needs: a verified graph. Keeps: kernels whose form materialise_kernels decides, and what is prepared when
// the model is opened, whose parameters the artifact stores. Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_constants(const ir::Graph &graph);

} // namespace longwave::compiler
