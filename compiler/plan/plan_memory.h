// Gives every buffer of an entry its offset: state buffers one after the other, arena buffers
// wherever their lifetimes leave room. Why here: last before bytes; only now are all buffers and
// all steps known. Needs: lifetimes (measure_lifetimes). Keeps: two buffers alive in the same step
// never overlap (artifact rule V10). Fails: never.
#pragma once
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

void plan_memory(EntryPlan &plan);
std::string print(const EntryPlan &plan); // steps and buffers, for --dump-after plan_memory

} // namespace longwave::compiler
