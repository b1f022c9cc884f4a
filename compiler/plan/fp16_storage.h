// Stores the values between the kernels of an offline run as float16. Arithmetic stays float32. A
// buffer of the arena becomes half as long when every kernel that uses it allows this, and its
// steps name kernels with such arguments (fp16_spec.h). Inputs and outputs of the entry stay
// float32, and so do weights, spectra and values that are updated in place. Why here: buffers and
// the arguments of kernels are known, offsets are not fixed yet. Needs: a plan on which plan_memory
// runs afterwards. Keeps: the order of steps, lifetimes. Fails: never.
#pragma once
#include "compiler/plan/capabilities.h"
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

void store_fp16(EntryPlan &plan, const KernelSignatures &signatures);

} // namespace longwave::compiler
