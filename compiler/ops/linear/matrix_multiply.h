// The kernel rule of ops whose result is a matrix times a row, plus a bias: input 1 is the matrix, outputs
// first, input 2 the bias where the attribute `bias` is 1. The attribute `weights` says how the matrix is
// stored (schedules/contract/weight_formats.h); its numbers are then such as the format holds exactly.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"
#include "schedules/contract/weight_formats.h"

namespace longwave::ir {

inline constexpr AttributeDef stored_weights{"weights", AttributeDef::Kind::text, false};
// Fault::input: an attribute that names no format.
Expected<schedules::WeightFormat> weight_format(const Node &node);

Status product(KernelCall &call);

} // namespace longwave::ir
