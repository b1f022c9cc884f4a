// Plans the entries of an artifact: `prepare`, offline runs and streams, for the host and for one
// device.
#pragma once
#include "compiler/driver/compile.h"
#include "compiler/plan/entry_planner.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/state_record.h"
#include "compiler/plan/tuning.h"

namespace longwave::compiler {

// All plans of an artifact. Offline runs and streams ask `prepare` for tables, so it is complete
// last.
struct Plans {
    Storage storage;
    StateRecord record;
    std::vector<EntryPlan> entries;        // prepare (when it has steps), runs, streams
    std::vector<const ir::Graph *> graphs; // of each entry; null: prepare
    std::vector<std::pair<std::string, AlgorithmReport>> algorithms; // name of the entry, choice
};

// The model after all passes.
struct Graphs {
    const ir::Graph &offline;
    const ir::Graph *stream = nullptr; // null: it has no stream
    uint32_t capacity = 0;             // input ticks of an offline run
    // Values of blocks of the host's stream that lie [channel][row], by input ticks (stream_layouts.h).
    ChannelMajorRuns by_channel = {};
};

// The entries that a device gets besides those of the host.
struct DeviceEntries {
    const devices::Traits *device = nullptr; // null: none
    bool offline = false, streams = false;
    std::set<std::string> cpu_layers; // layers of offline runs that the host computes instead
    ChannelMajorRuns channel_major;   // values of offline runs that lie [channel][row]
    // Graphs of offline runs that differ from the model's, by input ticks: with copies in the other
    // order (device_plan.cc). Plans refer to them.
    std::map<uint32_t, ir::Graph> reordered = {};
};

// Lays all entries out in memory. `like`: of the same model with other numbers, which are stored
// together where these are; null: equal numbers are. Errors: as EntryPlanner, and of options that do
// not fit the model.
Expected<Plans> plan_entries(const Graphs &graphs, const DeviceEntries &device, const Tuning &tuning,
                             const Options &options, const Storage *like = nullptr);

// The device's entries without weights and memory, to learn which kernels they call.
struct Draft {
    std::vector<EntryPlan> entries;
    std::map<std::string, std::string> no_run, no_stream; // layers that no kernel computes, with the reason
};
Expected<Draft> draft_entries(const Graphs &graphs, const DeviceEntries &device, const Tuning &tuning,
                              const Options &options);

} // namespace longwave::compiler
