// Turns the parameters of kernels into what a convolution needs: taps in float64, or fewer numbers that are
// expanded when the model is opened, as the op that makes the kernel decides.
// Why here: after constants are folded and before branches merge, which needs taps; the artifact stores the
// shorter of the two forms.
// Needs: parameters that are constants. Keeps: everything else. Fails: Fault::input as the op says, naming
// the layer.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> materialise_kernels(const ir::Graph &graph);

} // namespace longwave::compiler
