// Turns SGConv's parameters into what a convolution needs: taps in float64, or expand_scales where the parameters are fewer than the taps they stand for.
// Why here: after constants are folded and before branches merge, which needs taps; the artifact stores the shorter of the two forms.
// Needs: parameters that are constants. Keeps: everything else; expand_scales gives the same taps, with growth and norm folded into its parameters.
// Fails: Fault::input for a kernel_norm of zero, or taps that are not finite, naming the layer.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> materialise_kernels(const ir::Graph &graph);

} // namespace longwave::compiler
