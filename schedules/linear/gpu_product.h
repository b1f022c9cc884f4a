// Products whose sums stay in registers, which no schedule of Halide can say: the kernel is written
// out: for many rows (spirv/matrix_product.h) and for few (spirv/matrix_vector.h).
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

// Declares the kernel. False, with nothing declared: sizes that it does not fit.
bool product_in_registers(KernelBuilder &k, const Product &p);

} // namespace longwave::schedules
