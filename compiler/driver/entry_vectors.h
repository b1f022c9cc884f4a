// Golden vectors of all entries of an artifact.
#pragma once
#include "compiler/artifact/golden.h"
#include "compiler/driver/entries.h"

namespace longwave::compiler {

// Returns how far each output is from that of `exact`, the graph with the weights of the package,
// relative to its peak; empty unless weights were `rounded`. `offline`: the entries compute offline
// runs. Errors: Fault::input for a model that float32 or float16 cannot compute.
Expected<std::vector<double>> add_vectors(GoldenVectors &golden, const Plans &plans, const ir::Graph &exact,
                                          bool rounded, bool offline);

} // namespace longwave::compiler
