// Causal attention has two forms over one state, a matrix for each head: a row a call, and chunks of a few
// rows. What the ops of that kind share: how long a chunk is, what it costs, how it is planned.
#pragma once
#include "compiler/ir/kernel_call.h"

namespace longwave::ir {

// Rows of one chunk: of a whole sequence any, for the last chunk may reach beyond its end; of a block a
// divisor, below 2 where there is none.
uint32_t chunk_rows(const PlanContext &context);

// `each`: ns an output element of a row in a chunk; `state`: of a pass over the state.
Estimate estimate_chunk(const PlanContext &context, double each, double state);
Reach reach_row(const PlanContext &context, const Decisions &figures);
Reach reach_chunk(const PlanContext &context, const Decisions &figures);

// On a GPU: as many rows in one dispatch as it surely computes, input 0 being the queries.
Estimate estimate_scan(const PlanContext &context);
Reach reach_scan(const PlanContext &context, const Decisions &figures);
void plan_scan(KernelCall &call, const char *step, const char *chunk, uint32_t dk, uint32_t dv);

// Heads, widths and rows of the call.
void plan_chunk(KernelCall &call, const char *kernel, uint32_t dk, uint32_t dv);
void plan_row(KernelCall &call, const char *kernel, uint32_t dk, uint32_t dv);

} // namespace longwave::ir
