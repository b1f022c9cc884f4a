// Folds norms with fixed statistics: batch_norm becomes an affine; an affine behind a linear or conv2d, or before a linear, goes into its weight and bias.
// Why here: after branches have merged, because a norm behind a short convolution belongs to its branch; what is left is one multiply-add or nothing.
// Needs: constant parameters and weights; the value between the two has no other reader.
// Keeps: an affine before a convolution. Its shift meets the zeros around the signal, so folding it would be wrong at the edges.
// Fails: Fault::input for a variance that has no square root; Fault::internal when a re-run on numbers does not confirm a fold. Each adds a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_norms(const ir::Graph &graph);

} // namespace longwave::compiler
