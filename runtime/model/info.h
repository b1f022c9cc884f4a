// What lw_model_get_info points to.
#pragma once
#include "runtime/core/model.h"

namespace longwave::runtime {

// Lays out the lists of entries and state fields in `parts`, which may only measure, and fills them
// in.
void build_infos(lw_model &model, Parts &parts);

// Options of a stream for samples as they are, with the default of everything else. The model has a
// stream.
lw_stream_options plain_stream(const lw_model &model);

} // namespace longwave::runtime
