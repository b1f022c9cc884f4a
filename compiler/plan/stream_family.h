// Plans the stream entries of an artifact together: each has a block of its own, and all advance
// one state. A ring is as long as the longest look-back of any entry plus the largest block, so any
// aligned block may be written into it. Targets and algorithms change the length of a ring, but not
// which values have a history and how many rows of it a saved state needs.
#pragma once
#include "compiler/plan/entry_planner.h"

namespace longwave::compiler {

struct StreamFamily {
    StateRecord record;
    std::vector<EntryPlan> entries;                                  // per device, in the order of the blocks
    std::vector<std::pair<std::string, AlgorithmReport>> algorithms; // name of the entry, choice
    std::map<std::string, std::string> refused; // a draft: layers that no kernel computes, with the reason
};

struct StreamFamilyOptions {
    // Values of the host's blocks that lie [channel][row]. Of its only device: others read rows.
    ChannelMajorRuns channel_major = {};
    bool draft =
        false; // plans the entries of the last device only, without the layers that no kernel computes
};

// `graph` from make_streaming, `blocks` checked by check_blocks, `costs` alive while this runs.
// Fails as EntryPlanner does. `devices`: each gets all blocks, over one state.
Expected<StreamFamily> plan_streams(const ir::Graph &graph, const std::vector<uint32_t> &blocks,
                                    const std::string &convolution, Storage &storage,
                                    const costs::Tables &costs = costs::shipped(),
                                    const std::vector<const devices::Traits *> &devices = {&devices::host()},
                                    const StreamFamilyOptions &options = {});

} // namespace longwave::compiler
