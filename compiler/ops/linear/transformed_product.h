// Products with a Fourier matrix, which a kernel computes as transforms. Input 0 has the samples in its last
// dimension; what is before it, such as the frames of a row, has transforms of its own.
#pragma once
#include "compiler/ops/linear/fourier_matrix.h"

namespace longwave::ir {

// Empty: a product of another kind, or with more than a matrix.
std::optional<FourierMatrix> transform_for(const KernelCall &call);
Status transform(KernelCall &call, FourierMatrix matrix);

} // namespace longwave::ir
