// Writes a long convolution that mixes channels as one filter per pair of an input and an output,
// and a sum: a room with two sources and two microphones has four. The planner computes long
// filters with transforms, and a mixing convolution tap by tap.
// Why here: constants are folded, and merge_branches finds the filters. Needs: a verified graph.
// Keeps: convolutions of few taps or of many channels (Rewrites::separate decides). Each rewrite has
// a certificate. Fails: Fault::internal, when a certificate fails.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> separate_channels(const ir::Graph &graph);

} // namespace longwave::compiler
