// The length of the blocks of overlap_add and overlap_add_phases.
#pragma once
#include "compiler/ops/long_conv/kernels.h"

namespace longwave::compiler::convolution {

struct BlockChoice {
    const CostTable &costs;          // by the length of a block
    uint32_t (*length_of)(uint32_t); // the shortest block of at least so many rows that has a transform
    uint32_t shortest = 1;           // block
    double idle = 1;                 // factor of the cost: lanes that compute nothing
    size_t column = 1;               // of the costs
};
// The length with the lowest cost per row. A convolution with two sides is refused.
Estimate cheapest_block(const PlanContext &context, const BlockChoice &choice);

} // namespace longwave::compiler::convolution
