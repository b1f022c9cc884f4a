// Turns a graph of whole sequences into the graph of its stream, and says how often every value comes.
// Why here: after convolutions are known and before kernels are chosen; from here on a stream and a whole run
// are planned by the same code. Needs: primitives only. Keeps: every causal op as it is, but for those that
// name their streamed form (OpDef::streamed). Fails: Fault::usage naming each layer that looks ahead and what
// it reads; or a block that cuts a hop, naming the blocks that fit.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

// A value of a stream: `rows` rows each time, at blocks b with b mod period = phase.
struct Pace {
    uint32_t rows = 1, period = 1, phase = 0;
};

Expected<ir::Graph> make_streaming(const ir::Graph &graph);
// Smallest block that cuts no hop: the least common multiple of all clocks' denominators.
uint32_t natural_block(const ir::Graph &graph);
Expected<Pace> pace_of(ir::Clock clock, uint32_t block);
// Blocks of the stream entries that share one state: none cuts a hop, each is a multiple of the smallest. Not
// empty.
Status check_blocks(const ir::Graph &graph, const std::vector<uint32_t> &blocks);

} // namespace longwave::compiler
