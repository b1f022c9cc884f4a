// Merges a matrix multiplication and the one after it into one: W x + b, then V y + c, becomes
// (V W) x + (V b + c). A constant inverse transform before a layer is such a pair.
// Why here: norms are folded, so nothing is left between two matrices that belong together.
// Needs: constant matrices of float32 that no other node uses; no other reader of the value between
// them.
// Keeps: a pair whose product has as many numbers as both matrices, such as a bottleneck. Layers
// whose `weights` the model chooses.
// Fails: Fault::internal when a re-run on numbers does not confirm a merge. Each merge adds a
// certificate. The product is computed in float64, and rounded once.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> merge_products(const ir::Graph &graph);

} // namespace longwave::compiler
