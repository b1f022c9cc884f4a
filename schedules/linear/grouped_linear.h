// linear with int4 weights. The kernel quantises rows when it begins, to int16 by row or to int8 by
// group. It adds the products of a group of 32 inputs as integers. Each group has its own scale.
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

void build_grouped_linear(KernelBuilder &k, const Product &product);

} // namespace longwave::schedules
