// Norms of equal parts of a row.
#pragma once
#include "compiler/ir/op.h"

namespace longwave::ir::rules {

// Parts of a row that a norm takes each on its own: the attribute `groups`, 1 where it is left out.
Expected<uint32_t> norm_groups(const Node &node, const Type &x);

} // namespace longwave::ir::rules
