// Folds norms with fixed statistics: maps of each channel (scale and shift) behind an op that is linear in
// its weights, or before one that looks at no zeros around the signal, go into weight and bias; what is left
// takes its simplest form.
// Why here: after branches have merged, because a norm behind a short convolution belongs to its branch; what
// is left is one multiply-add or nothing.
// Needs: constant parameters and weights; the value between the two has no other reader.
// Keeps: a map before a convolution. Its shift meets the zeros around the signal, so folding it would be
// wrong at the edges.
// Fails: Fault::input for a variance that has no square root; Fault::internal when a re-run on numbers does
// not confirm a fold. Each adds a certificate.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> fold_norms(const ir::Graph &graph);

} // namespace longwave::compiler
