// Decides which values of a device's offline runs lie channel by channel, and which of them have a copy
// in the other order (plan/channel_major.h).
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include "compiler/driver/entries.h"
#include "compiler/plan/capabilities.h"

namespace longwave::compiler {

// Sets `channel_major` and `reordered` of `device`. `draft`: its entries, whose kernels `known` has
// all. A run with copies is drafted again, and what that asks for is added to `known`. Errors: as
// draft_entries, query_capabilities and the pass.
Status choose_layouts(DeviceEntries &device, Capabilities &known, const std::vector<EntryPlan> &draft,
                      const Graphs &graphs, const Tuning &tuning, const Options &options,
                      const KernelCacheOptions &kernels);

} // namespace longwave::compiler
