// The nodes of a version 2 package: each becomes one node of the graph, or the nodes of its layer.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

// Defines the address of every node. A node without op is the next of `layers`. Reports every
// unknown op, missing tensor and input that does not fit. A node behind a failed one is not judged.
void lower_nodes(Lowering &lowering, const std::vector<package::Node> &nodes,
                 const std::vector<Layer> &layers);

} // namespace longwave::compiler::layers
