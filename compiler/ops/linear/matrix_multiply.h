// The kernel rule of ops that multiply a matrix by a row and add a bias. Input 1 is the matrix,
// outputs first. Input 2 is the bias if the attribute `bias` is 1. The attribute `weights` names
// the storage format of the matrix (schedules/contract/weight_formats.h); the format then holds its
// numbers exactly.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"
#include "schedules/contract/panels.h"
#include "schedules/contract/weight_formats.h"

namespace longwave::ir {

inline constexpr AttributeDef stored_weights{"weights", AttributeDef::Kind::text, false};
// Fault::input: the attribute names no format.
Expected<schedules::WeightFormat> weight_format(const Node &node);

// `activation_steps` (compiler/ir/op.h) is for int8 and int4 weights: with so many steps all sums
// fit an int32.
Status check_activation_steps(const Node &node);

Status product(KernelCall &call);

// Whether a CPU may compute this product by a kernel of its own: float32 weights, nothing absorbed.
bool may_be_special(const KernelCall &call);

// The matrix of `node` as product() stores it: of `x`, without a gate. `gated`: the second half of
// the outputs are gates.
schedules::PackedPanels packed_matrix(const Numbers &weights, const Type &type, const Type &x, bool gated,
                                      schedules::WeightFormat format);

Packed words_of(schedules::PackedPanels packed, schedules::WeightFormat format);

// The first node that multiplies by this matrix with its outputs in order, so that the rows of the
// matrix lie in one place each; null: there is none.
const Node *multiplier(const Graph &graph, ValueId matrix);

} // namespace longwave::ir
