// How an op that goes through its rows in one thread cuts an offline run or a block into dispatches of a GPU.
#pragma once
#include "compiler/ir/algorithm.h"

namespace longwave::ir {

// `trips`: of all loops of a thread together, for a row. Decides `rows`, and `dispatches` where there are
// several.
Estimate estimate_dispatches(const PlanContext &context, uint32_t trips);
// Of any algorithm that decides `rows`.
Reach reach_rows(const PlanContext &context, const Decisions &decisions);

} // namespace longwave::ir
