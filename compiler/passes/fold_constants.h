// Computes every node whose inputs are all constants, by its reference loop in float64.
// Why here: first, so that later passes see weights and not sums of weights.
// Needs: a verified graph. Keeps: sgconv_kernel (materialise_kernels decides its form) and expand_scales (the artifact stores its parameters). Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_constants(const ir::Graph &graph);

} // namespace longwave::compiler
