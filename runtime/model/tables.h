// What a model needs besides its bytes and its device, wherever the bytes come from.
#pragma once
#include "runtime/core/model.h"

namespace longwave::runtime {

// Functions (all null), stream entries and what lw_model_info points to, in `parts`, which may only
// measure. Returns the functions, one for each kernel.
Function *lay_out_tables(lw_model &model, Parts &parts);

} // namespace longwave::runtime
