// Turns the parameters of kernels into what a convolution needs. The op that makes the kernel
// decides the form: taps in float64, or fewer numbers that are expanded when the model is opened.
// Why here: constants are folded, and merge_branches needs taps. The artifact stores the shorter
// form.
// Needs: constant parameters. Keeps: everything else. Fails: Fault::input as the op says, with the
// layer.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> materialise_kernels(const ir::Graph &graph);

} // namespace longwave::compiler
