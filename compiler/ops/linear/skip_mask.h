// Work that a stream may leave out. The reader of a stream can state a margin, a scalar of the host
// (scalar.cc): it takes no word whose logit is further below the largest one. At first the reader
// takes every word. A row that is taken has the same bits with and without a
// margin. Only a CPU stream that computes one row at a time can leave out work: no other row or
// stream needs it.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"

namespace longwave::ir {

inline bool takes_skip_mask(const PlanContext &context) {
    return context.streaming && context.rows == 1 && context.device.skip_masks;
}

// Attribute of ops that may leave out their work: their last input is the mask, and the attribute
// says which of its values to read. The value 0 means that nobody takes the result. Absent: the op
// has no mask.
inline constexpr AttributeDef skip_mask_attribute{"skip_mask", AttributeDef::Kind::integer, false};
inline bool has_skip_mask(const Node &node) { return node.has(skip_mask_attribute.name); }

} // namespace longwave::ir
