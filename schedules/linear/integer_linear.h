// linear, where rows are quantised when the kernel begins and products are integers.
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

// Weights of int8, rows of int16, sums of int32. Exact until the sums are scaled.
void build_integer_linear(KernelBuilder &k, const Product &product);

// Weights of int4. Rows become int16 by row or int8 by group. The products of a group of 32 inputs are
// added as integers, and each group has its own scale.
void build_grouped_linear(KernelBuilder &k, const Product &product);

} // namespace longwave::schedules
