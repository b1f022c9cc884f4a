// Work that a stream may leave out. Whoever reads a stream can say that it will take no word that is less likely
// than the likeliest by more than a factor (Scalar::Kind::margin); by default it wants all, and every row has the
// same bits with and without the advice. Only where one row is computed at a time, on a CPU, is there work
// that no other row or stream needs.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"

namespace longwave::ir {

inline bool takes_skip_mask(const PlanContext &context) {
    return context.streaming && context.rows == 1 && context.device.skip_masks;
}

// Attribute of ops that may leave out their work: which value of their last input says so, 0: their result is
// wanted. Absent: there is no such input.
inline constexpr AttributeDef wanted_attribute{"wanted", AttributeDef::Kind::integer, false};
inline bool is_advised(const Node &node) { return node.has(wanted_attribute.name); }

} // namespace longwave::ir
