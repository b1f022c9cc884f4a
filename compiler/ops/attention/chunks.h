// Causal attention has two forms over one state, a matrix per head: one row per call, and chunks of
// a few rows. Shared by these ops: the length of a chunk, its cost and its plan.
#pragma once
#include "compiler/ir/kernel_call.h"

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
void plan_scan(KernelCall &call, const char *step, const char *chunk, uint32_t dk, uint32_t dv);

// Sets the params for heads, widths and rows.
void plan_chunk(KernelCall &call, const char *kernel, uint32_t dk, uint32_t dv);
void plan_row(KernelCall &call, const char *kernel, uint32_t dk, uint32_t dv);

} // namespace longwave::ir
