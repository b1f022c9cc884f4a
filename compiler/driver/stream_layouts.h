// Decides which values of the host's stream lie channel by channel, for each block (plan/channel_major.h):
// those between kernels of few channels, whose vectors hold rows. Why here: the signatures of a draft's
// kernels say which arguments may lie so. Needs: no other device with streams. Fails: as plan_streams and
// query_capabilities.
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include "compiler/driver/check_options.h"
#include "compiler/driver/entries.h"

namespace longwave::compiler {

// Without a stream: none.
Expected<ChannelMajorRuns> stream_layouts(const Graphs &graphs, const Request &request,
                                          const Options &options, const KernelCacheOptions &kernels);

} // namespace longwave::compiler
