// Rows and elements that move: what passes and other ops build with the ops of this folder.
#pragma once
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"

namespace longwave::ir {

// What the ops that give a stream its rows later have in common. The attribute `rows` says how many.
StreamRule keep_shifted_rows(const Node &node, std::span<const Type> inputs);
Status shift_kernel(KernelCall &call);

// The elements of each row in another order. `index`: of each element of the result, that of x; −1: zero.
// `bands`: dims of the result, as the op has it.
Expected<ValueId> make_taken(Builder &to, ValueId x, std::vector<double> index, int64_t bands,
                             const std::string &layer);

// The same rows, so many rows late in a stream. For the pass that lets branches meet.
Expected<ValueId> make_wait(Builder &to, ValueId x, int64_t rows, const std::string &layer);

// A copy of the same rows in the other order of memory, which is the planner's choice. For the pass that puts
// it between kernels.
Expected<ValueId> make_reordered(Builder &to, ValueId x, const std::string &layer);

} // namespace longwave::ir
