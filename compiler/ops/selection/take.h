// Nodes that take elements of a row in another order.
#pragma once
#include "compiler/ir/builder.h"

namespace longwave::ir {

// `index`: of each element of the result, that of x; −1: zero. `bands`: dims of the result, as the op has it.
Expected<ValueId> make_taken(Builder &to, ValueId x, std::vector<double> index, int64_t bands,
                             const std::string &layer);

} // namespace longwave::ir
