// What the ops that give a stream its rows later have in common. The attribute `rows` says how
// many.
#pragma once
#include "compiler/ir/op.h"

namespace longwave::ir {

StreamRule keep_shifted_rows(const Node &node, std::span<const Type> inputs);
Status shift_kernel(KernelCall &call);

} // namespace longwave::ir
