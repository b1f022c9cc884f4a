// Golden vectors of a windowed stream: how long they are.
#pragma once
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

// Input ticks until every output has had its first few windows.
uint32_t ticks_of_windows(const EntryPlan &plan);

} // namespace longwave::compiler
