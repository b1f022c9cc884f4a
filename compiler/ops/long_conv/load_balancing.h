// Spreads work that is due once in several blocks over these blocks, so that all blocks cost about
// the same.
#pragma once
#include "compiler/ir/kernel_call.h"
#include <vector>

namespace longwave::compiler::convolution {

// Kernel calls that run in order. Each step has its own places and its predicted cost.
struct Job {
    std::vector<Step> steps;
    bool alone = true; // false: neighbours with the same kernels may become tiles of one step, in any order
    double cost() const;
};

// The block of each job, in order. The choice minimises the cost of the most expensive block.
// `load`: what each block costs already.
std::vector<uint32_t> balance_load(const std::vector<Job> &jobs, const std::vector<double> &load);

// Adds the jobs as steps that fire once in `blocks` blocks, around the steps that the plan has so
// far. `replay`: as in KernelCall::also.
void spread_load(ir::KernelCall &call, const std::vector<Job> &jobs, uint32_t blocks, uint32_t replay);

} // namespace longwave::compiler::convolution
