// A long convolution in a plan: taps and spectra in the prepare entry, then a call of the algorithm that was chosen for it.
#pragma once
#include "compiler/planner/planned_call.h"

namespace longwave::compiler {
// Errors (Fault::input): D is not a constant.
Status plan_convolution(PlannedCall &call);
} // namespace longwave::compiler
