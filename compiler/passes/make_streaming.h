// Turns the offline graph into the graph of its stream, and tells the output rate of every value.
// Why here: convolutions are known and kernels are not chosen yet. From here on the same code plans
// streams and offline runs. Needs: primitives only. Keeps: every causal op, except ops that name a
// streamed form (OpDef::streamed). Ops that look ahead by a few rows come late; earlier branches
// wait. Fails: Fault::usage for each layer that looks ahead and cannot wait, and for each state
// that cannot begin late; Fault::usage for a block that cuts a hop, with the blocks that fit.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"

namespace longwave::compiler {

// When a value of a stream has new rows: `rows` of them at each block b with b mod period = phase.
struct Pace {
    uint32_t rows = 1, period = 1, phase = 0;
};

Expected<ir::Graph> make_streaming(const ir::Graph &graph);
// The smallest block that cuts no hop: the least common multiple of all denominators of clocks, and of
// the ticks that rows come for together.
uint32_t natural_block(const ir::Graph &graph);
Expected<Pace> pace_of(ir::Clock clock, uint32_t block);
// Checks the blocks of stream entries that share one state: none cuts a hop, or rows that come
// together, and each is a multiple
// of the smallest. There is at least one.
Status check_blocks(const ir::Graph &graph, const std::vector<uint32_t> &blocks);

} // namespace longwave::compiler
