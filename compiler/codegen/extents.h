// How many rows of a sequence one kernel can address.
#pragma once
#include "compiler/plan/entry_plan.h"
#include "formats/base/status.h"
#include <vector>

namespace longwave::compiler {

// Fault::usage, with the way out, for an entry whose capacity or block asks a kernel for more rows
// than any can address.
Status check_extents(const std::vector<EntryPlan> &entries);

} // namespace longwave::compiler
