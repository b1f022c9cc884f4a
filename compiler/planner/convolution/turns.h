// Work that is done once in several blocks, in pieces that take turns, so that all blocks cost about the
// same.
#pragma once
#include "compiler/ops/kernel_call.h"
#include <vector>

namespace longwave::compiler::convolution {

// One kernel call with places of its own; its predicted cost is in the step.
struct Job {
    Step step;
    bool alone = true; // false: neighbours of the same kernel may be tiles of one step, in any order
};

// In which of so many blocks each job runs, in order: the cut of the list whose dearest block is cheapest on
// top of what the blocks already have to do (`load`, one a block).
std::vector<uint32_t> cut_into_turns(const std::vector<Job> &jobs, const std::vector<double> &load);

// Adds the jobs as steps that fire once in `blocks` blocks, around what the plan has so far. `replay`: as
// KernelCall::also.
void take_turns(ir::KernelCall &call, const std::vector<Job> &jobs, uint32_t blocks, uint32_t replay);

} // namespace longwave::compiler::convolution
