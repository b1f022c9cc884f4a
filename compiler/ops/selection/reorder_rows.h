// A copy of rows in the other order of memory, for the pass that puts it between kernels.
#pragma once
#include "compiler/ir/builder.h"

namespace longwave::ir {

// The same rows. Where they lie is the planner's choice.
Expected<ValueId> make_reordered(Builder &to, ValueId x, const std::string &layer);

} // namespace longwave::ir
