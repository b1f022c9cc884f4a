// Norms of equal parts of a row.
#pragma once
#include "compiler/ir/op.h"

namespace longwave::ir::rules {

// The number of equal parts of a row that are normalised separately: the attribute `groups`, by
// default 1.
Expected<uint32_t> norm_groups(const Node &node, const Type &x);

} // namespace longwave::ir::rules
