// What lw_model_get_info points to.
#pragma once
#include "runtime/core/model.h"

namespace longwave::runtime {

// Lays out the lists of entries and state fields in `parts`, which may only measure, and fills them
// in.
void build_infos(lw_model &model, Parts &parts);

} // namespace longwave::runtime
