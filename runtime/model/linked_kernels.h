// Kernels that the program contains, for files without code.
#pragma once
#include "runtime/core/model.h"

namespace longwave::runtime {

// Fills in the functions of the model's variant. They must be those of its compilation: then the
// arguments that the plan was checked against, and the scratch that it gives, are what the
// functions expect.
lw_status link_kernels(lw_model &model, const lw_model_kernels *kernels, Function *table);

} // namespace longwave::runtime
