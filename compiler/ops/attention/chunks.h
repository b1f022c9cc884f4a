// Causal attention has two forms over one state, a matrix per head: one row per call, and chunks of
// a few rows. Shared by these ops: the length of a chunk, and its cost. They decide `rows`.
#pragma once
#include "compiler/ir/algorithm.h"

namespace longwave::ir {

// Rows per chunk. An offline run takes any number, because the last chunk may reach beyond the end.
// A block of a stream takes a divisor of its rows; below 2: there is none.
uint32_t chunk_rows(const PlanContext &context);

// `each`: ns per output element of a row in a chunk. `state`: ns per output element of a pass over
// the state.
Estimate estimate_chunk(const PlanContext &context, double each, double state);
Reach reach_row(const PlanContext &context, const Decisions &decisions);
Reach reach_chunk(const PlanContext &context, const Decisions &decisions);

// On a GPU: the rows of one dispatch, within the limits of every device. Input 0 is the queries.
Estimate estimate_scan(const PlanContext &context);
Reach reach_scan(const PlanContext &context, const Decisions &decisions);

} // namespace longwave::ir
