// Golden vectors of windowed streams: which windows they show.
#pragma once
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

// Input ticks that the golden vector of a windowed stream takes. `full`: of the vector that ends
// with the first window that is full; 0 where the other vector has that window.
uint32_t ticks_of_windows(const EntryPlan &plan, bool full);

// Number of the first row that the full window adds to an output.
uint32_t first_row_of_full_window(const EntryPlan &plan, const OutputPort &port);

} // namespace longwave::compiler
