// Norms of equal parts of a row.
#pragma once
#include "compiler/ir/op.h"
#include <initializer_list>

namespace longwave::ir::rules {

// The number of equal parts of a row that are normalised separately: the attribute `groups`, by
// default 1.
Expected<uint32_t> norm_groups(const Node &node, const Type &x);
// The shape rule of such a norm; the other inputs are vectors over the row, named by `operands`.
Expected<Type> infer_norm(const Node &node, std::span<const Type> in,
                          std::initializer_list<const char *> operands);

} // namespace longwave::ir::rules
