// Stores what the steps of a whole run on a GPU hand to each other as float16, arithmetic staying float32: a buffer of
// the arena becomes half as long where every kernel that reads or writes it can do with that (KernelArg::fp16),
// and its steps name kernels of such arguments (emit/half_kernel.h). Inputs and outputs of the entry stay float32, and
// so do weights, spectra and what is updated in place.
// Why here: planned buffers and the kernels' argument lists have to be known; offsets are given afterwards.
// Needs: a plan before plan_memory, or one that plan_memory goes over again. Keeps: the order of steps, lifetimes.
// Fails: never.
#pragma once
#include "compiler/plan/capabilities.h"
#include "compiler/plan/entry_plan.h"

namespace longwave::compiler {

void store_fp16(EntryPlan &plan, const KernelSignatures &signatures);

} // namespace longwave::compiler
