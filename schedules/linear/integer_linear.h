// linear, where rows are quantised when the kernel begins and products are integers: weights of
// int8, rows of int16, sums of int32. Exact until the sums are scaled.
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

void build_integer_linear(KernelBuilder &k, const Product &product);

} // namespace longwave::schedules
