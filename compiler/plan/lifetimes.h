// Between which steps each buffer of an entry is alive.
#pragma once
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

// Sets Buffer::first and last, and the period of the plan.
void measure_lifetimes(EntryPlan &plan);

} // namespace longwave::compiler
