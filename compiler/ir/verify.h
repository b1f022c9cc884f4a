// Checks what every pass must leave behind: nodes in topological order, ids in range, one producer
// a value, types equal to what the ops infer, outputs present.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/status.h"

namespace longwave::ir {
Status verify(const Graph &graph); // Fault::internal, naming node and rule
}
