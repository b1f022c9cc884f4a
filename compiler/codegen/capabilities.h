// Asks the kernel compiler which kernels a device has: one query for all of them.
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include "compiler/plan/entry_plan.h"
#include <vector>

namespace longwave::compiler {

// The kernels that the device computes itself, each once and sorted.
std::vector<std::string> kernels_of(const devices::Traits &device, const std::vector<EntryPlan> &entries);

// Adds the answers for those of `specs` that `known` does not have yet. The folder of the kernel
// cache keeps them for later compiles. A kernel that the device does not have is an answer, not an
// error. Errors: Fault::device when the kernel compiler is missing or cannot run; Fault::internal
// when it fails.
Status query_capabilities(Capabilities &known, const std::vector<std::string> &specs,
                          const devices::Traits &device, const KernelCacheOptions &options);

// Why the device cannot compute a step; empty: it can. The answer for the step's kernel must be
// known.
std::string refusal_of(const Step &step, const devices::Traits &device, const Capabilities &known);

} // namespace longwave::compiler
