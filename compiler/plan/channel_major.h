// Chooses the values of an entry that memory holds channel by channel, [channel][row], instead of row
// by row: of offline runs of a GPU, and of blocks of a CPU's stream. A long convolution of many rows on
// a GPU has few channels per workgroup, so it reads a part of each memory sector of a row, and all of
// each sector of a channel. A CPU's vector holds rows of one of few channels. A kernel that needs the
// other order reads a copy, if that moves fewer bytes. Why here: a draft of the entry names its kernels.
// These say which arguments may lie so, and what they lose if they do not. The entry is planned again
// with the answer, because weights depend on it. Needs: a draft whose kernels the device has. Keeps:
// inputs and outputs of the entry, row by row. Fails: never.
#pragma once
#include "compiler/plan/entry_plan.h"
#include <map>
#include <optional>
#include <set>

namespace longwave::compiler {

// Values of the graph.
using ChannelMajor = std::set<int>;
// By input ticks of the run.
using ChannelMajorRuns = std::map<uint32_t, ChannelMajor>;

// A copy of a value in the other order (passes/passes.h).
struct Reorder {
    int value = -1;        // of the graph
    std::set<int> readers; // those whose kernels read the copy, as Step::node
    bool output = false;   // and so do the outputs of the model
    bool operator==(const Reorder &) const = default;
};

struct LayoutOptions {
    // A kernel may clear the rows after the end of a sequence. It does so for float32.
    bool clears_tails = true;
    // What a dispatch counts as, in bytes that it could have moved. Empty: no copies.
    std::optional<double> dispatch_bytes = {};
};

struct ValueLayouts {
    ChannelMajor channel_major;    // of the values of the draft; a copy has the other order
    std::vector<Reorder> reorders; // in the order of the values
};

// The cheapest choice: no other moves fewer bytes, as the signatures count them.
ValueLayouts find_layouts(const EntryPlan &draft, const KernelSignatures &signatures,
                          const LayoutOptions &options = {});

} // namespace longwave::compiler
