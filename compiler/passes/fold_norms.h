// Folds norms with fixed statistics. Such a norm is a scale and a shift per channel. The pass moves
// them into the weight and bias of the op before it, if that op is linear in its weights. It also
// moves them into the op after it, if that op reads no zeros around the signal. A norm that remains
// takes its simplest form.
// Why here: branches have merged, because a norm after a short convolution belongs to its branch.
// What remains is at most one multiply-add.
// Needs: constant parameters and weights; no other reader of the value between the two.
// Keeps: a norm before a convolution. Its shift meets the zeros around the signal, so folding it
// would be wrong at the edges.
// Fails: Fault::input for a variance without a square root; Fault::internal when a re-run on
// numbers does not confirm a fold. Each fold adds a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_norms(const ir::Graph &graph);

} // namespace longwave::compiler
