// Work that is done once in several blocks, in pieces that take turns, so that all blocks cost about the
// same.
#pragma once
#include "compiler/ir/kernel_call.h"
#include <vector>

namespace longwave::compiler::convolution {

// Kernel calls that run one after another, with places of their own; their predicted costs are in the steps.
struct Job {
    std::vector<Step> steps;
    bool alone = true; // false: neighbours of the same kernels may be tiles of the same steps, in any order
    double cost() const;
};

// In which of so many blocks each job runs, in order: the cut of the list whose dearest block is cheapest on
// top of what the blocks already have to do (`load`, one a block).
std::vector<uint32_t> balance_load(const std::vector<Job> &jobs, const std::vector<double> &load);

// Adds the jobs as steps that fire once in `blocks` blocks, around what the plan has so far. `replay`: as
// KernelCall::also.
void spread_load(ir::KernelCall &call, const std::vector<Job> &jobs, uint32_t blocks, uint32_t replay);

} // namespace longwave::compiler::convolution
