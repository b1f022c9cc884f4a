// Splits an op that has no kernel of its own, because the node before it computes it, into ops that
// have one. A glu behind a convolution becomes its two halves, a sigmoid and a product.
// Why here: all matrices have found their places, so the node before it stays.
// Keeps: an op whose neighbour absorbs it (OpDef::absorb_consumer).
// Fails: never on a verified graph.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> split_lone(const ir::Graph &graph);

} // namespace longwave::compiler
