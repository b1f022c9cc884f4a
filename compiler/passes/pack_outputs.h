// Adds an identity matrix after every output whose rows have gaps in memory: several groups of
// channels, each padded to whole vectors.
// Why here: the folds would merge the identity away. Callers get plain rows of `width` floats.
// Needs: nothing. Keeps: values, bit for bit (1·x + 0·y). Fails: never.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

Expected<ir::Graph> pack_outputs(const ir::Graph &graph);

} // namespace longwave::compiler
