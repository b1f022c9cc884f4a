// linear with int4 weights: rows are quantised to int16 when the kernel begins, products of a group
// of 32 inputs are added as integers, and each group has a scale of its own.
#pragma once
#include "schedules/linear/linear_product.h"

namespace longwave::schedules {

void build_grouped_linear(KernelBuilder &k, const Product &product);

} // namespace longwave::schedules
