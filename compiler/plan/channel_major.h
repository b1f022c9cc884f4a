// Chooses the values of an offline run of a GPU that memory holds channel by channel, [channel][row],
// instead of row by row. A long convolution of many rows has few channels per workgroup, so it
// reads a part of each memory sector of a row, and all of each sector of a channel. Why here: a
// draft of the entry names its kernels, and these say which arguments may lie so and which had
// better. The entry is planned again with the answer, because weights depend on it. Needs: a draft
// whose kernels the device has. Keeps: inputs and outputs of the entry, row by row. Fails: never.
#pragma once
#include "compiler/plan/capabilities.h"
#include "compiler/plan/entry_plan.h"
#include <map>
#include <set>

namespace longwave::compiler {

// Values of the graph.
using ChannelMajor = std::set<int>;
// By input ticks of the run.
using ChannelMajorRuns = std::map<uint32_t, ChannelMajor>;

// `clears_tails`: a kernel may clear the rows after the end of a sequence. It does so for float32.
ChannelMajor find_channel_major(const EntryPlan &draft, const KernelSignatures &signatures,
                                bool clears_tails = true);

} // namespace longwave::compiler
