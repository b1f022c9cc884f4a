// A graph as an artifact, behind the passes that a test has run itself: to compare what compiled
// code makes of a graph with what it makes of the same graph rewritten.
#pragma once
#include "compiler/driver/compile.h"
#include "compiler/ir/graph.h"

namespace longwave::test {

// Plans, kernels and bytes for whole sequences of `rows` ticks; of the options only what concerns
// kernels counts. No golden vectors, no report.
Expected<std::vector<uint8_t>> compile_graph(const ir::Graph &graph, uint32_t rows,
                                             const compiler::Options &options);

} // namespace longwave::test
