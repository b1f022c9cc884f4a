// What the ops of linear attention have in common: queries and keys {heads·dk}, values {heads·dv}, in that
// order.
#pragma once
#include "compiler/ir/op.h"

namespace longwave::ir::attention {

inline uint32_t heads_of(const Node &node) { return static_cast<uint32_t>(node.integer("heads")); }
// All inputs are rows that divide into the heads, at one clock: the type of the values (the third input), causal
// where all are.
Expected<Type> of_heads(const Node &node, std::span<const Type> in);
// Of queries and keys of one width, and values.
Expected<Type> infer(const Node &node, std::span<const Type> in);

} // namespace longwave::ir::attention
