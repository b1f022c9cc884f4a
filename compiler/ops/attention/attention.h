// Shared by the ops of linear attention. Their inputs are queries and keys {heads·dk} and values
// {heads·dv}, in that order.
#pragma once
#include "compiler/ir/op.h"

namespace longwave::ir::attention {

inline uint32_t heads_of(const Node &node) { return static_cast<uint32_t>(node.integer("heads")); }
// Rows of numbers with one clock. The result has the type `result`, and is causal if all inputs are.
Expected<Type> rows_of_one_rate(std::span<const Type> in, Type result);
// The rows of all inputs divide into the heads and have one clock. The result has the type of the
// values (the third input). It is causal if all inputs are.
Expected<Type> of_heads(const Node &node, std::span<const Type> in);
// Of queries and keys of one width, and values.
Expected<Type> infer(const Node &node, std::span<const Type> in);

} // namespace longwave::ir::attention
