// Computes every node whose inputs are all constants, by its reference loop in float64.
// Why here: it runs first, so that later passes see weights instead of sums of weights.
// Needs: a verified graph. Keeps: kernels whose form materialise_kernels decides, and kernels that
// are prepared when the model is opened: the artifact stores their parameters. Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_constants(const ir::Graph &graph);

// Turns the parameters of kernels into what a convolution needs. The op that makes the kernel
// decides the form: taps in float64, or fewer numbers that are expanded when the model is opened.
// Why here: constants are folded, and merge_branches needs taps. The artifact stores the shorter
// form.
// Needs: constant parameters. Keeps: everything else. Fails: Fault::input as the op says, with the
// layer.

Expected<ir::Graph> materialise_kernels(const ir::Graph &graph);

} // namespace longwave::compiler
