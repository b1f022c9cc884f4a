// Computes every node whose inputs are all constants, by its reference loop in float64.
// Why here: it runs first, so that later passes see weights instead of sums of weights.
// Needs: a verified graph. Keeps: kernels whose form materialise_kernels decides, and kernels that
// are prepared when the model is opened: the artifact stores their parameters. Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_constants(const ir::Graph &graph);

} // namespace longwave::compiler
