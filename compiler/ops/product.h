// The kernel rule of ops whose result is a matrix times a row, plus a bias: input 1 is the matrix [out, in],
// input 2 the bias where the attribute `bias` is 1.
#pragma once
#include "compiler/ops/kernel_call.h"

namespace longwave::ir {

Status product(KernelCall &call);

} // namespace longwave::ir
