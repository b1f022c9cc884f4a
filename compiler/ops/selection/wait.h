// Rows that come later in a stream, for the pass that lets branches meet.
#pragma once
#include "compiler/ir/builder.h"

namespace longwave::ir {

// The same rows, so many rows late.
Expected<ValueId> make_wait(Builder &to, ValueId x, int64_t rows, const std::string &layer);

} // namespace longwave::ir
