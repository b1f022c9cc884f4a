// Merges parallel branches on one value (re-parameterisation): short (depthwise conv2d) and long causal convolutions, norms behind them, identities and scaled
// identities become one conv2d with a bias where all were short, else one long_conv and, where a bias remains, one affine. D goes into tap 0.
// Why here: after kernels are taps; before norms fold, because a norm behind a convolution belongs to its branch.
// Needs: causal convolutions of one channel copy. Taps may be constants or, in one of the branches, expanded later: then the others join its expand_scales as a
// short kernel, and a norm scales its parameters.
// Keeps: what is not exact. A norm before a convolution stays: its shift would meet the zeros before the start. Two-sided convolutions stay as they are.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge; each one that holds adds a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> merge_branches(const ir::Graph &graph);

} // namespace longwave::compiler
