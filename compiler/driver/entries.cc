#include "compiler/driver/entries.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/stream_family.h"
#include "compiler/plan/windowed_stream.h"
#include <iterator>

namespace longwave::compiler {

namespace {

class Entries {
public:
    // `draft`: only entries of the device, and layers that no kernel computes are left out. `like`:
    // plan_entries.
    Entries(const Graphs &graphs, const DeviceEntries &device, const Tuning &tuning, const Options &options,
            bool draft, const Storage *like)
        : graphs_(graphs), device_(device), tuning_(tuning), options_(options), draft_(draft),
          plans_{.storage = like ? Storage::like(*like)
                                 : Storage(draft ? Storage::Weights::counted : Storage::Weights::kept)} {}

    Status plan() {
        if (!draft_) LW_TRY(plan_runs(devices::host(), {}, options_.window > 0));
        if (device_.offline) {
            // A stream has all its layers on one device.
            const bool windows = options_.window && device_.streams && device_.cpu_layers.empty();
            LW_TRY(plan_runs(*device_.device, device_.cpu_layers, windows));
        }
        if (graphs_.stream && (device_.streams || !draft_)) LW_TRY(plan_streams(*graphs_.stream));
        return Status::ok();
    }

    Plans laid_out() {
        if (EntryPlan &prepare = plans_.storage.prepare(); !prepare.steps.empty()) {
            measure_lifetimes(prepare);
            plans_.entries.insert(plans_.entries.begin(), prepare);
            plans_.graphs.insert(plans_.graphs.begin(), nullptr);
        }
        plans_.record.arrange(); // of a window, too
        for (EntryPlan &entry : plans_.entries) plan_memory(entry);
        return std::move(plans_);
    }

    Draft drafted() { return {std::move(plans_.entries), std::move(no_run_), std::move(no_stream_)}; }

private:
    // Offline runs of every length on one device. `windows`: the longest one as a stream as well.
    Status plan_runs(const devices::Traits &device, const std::set<std::string> &cpu_layers, bool windows) {
        if (options_.offline || options_.window)
            LW_TRY(plan_run(device, cpu_layers, graphs_.capacity, windows));
        for (const uint32_t length : options_.further_lengths)
            LW_TRY(plan_run(device, cpu_layers, length, false));
        return Status::ok();
    }

    Status plan_run(const devices::Traits &device, const std::set<std::string> &cpu_layers, uint32_t capacity,
                    bool windows) {
        const ir::Graph &graph = graph_of(device, capacity);
        EntryPlanner planner(graph,
                             {.block = capacity,
                              .convolution = options_.convolution,
                              .costs = &tuning_.costs(),
                              .device = &device,
                              .cpu_layers = cpu_layers,
                              .fp16_storage = options_.gpu_storage != "f32",
                              .channel_major = channel_major(device, capacity),
                              .draft = draft_},
                             plans_.storage, plans_.record);
        LW_TRY(planner.survey());
        LW_ASSIGN(EntryPlan run, planner.plan({}));
        no_run_.insert(planner.refused().begin(), planner.refused().end());
        run.one_of_several = !options_.further_lengths.empty();
        std::vector<EntryPlan> made;
        if (options_.offline) made.push_back(run);
        if (windows && !run.host_scalars.empty())
            return Status::usage(
                fmt::format("--window: a window computes its rows anew with each hop, so the "
                            "host cannot change scalar {}; leave out --window, or the scalar",
                            run.host_scalars[0]));
        if (windows)
            made.push_back(
                windowed_stream(std::move(run), graph, options_.hop, plans_.record, plans_.storage));
        for (EntryPlan &entry : made) {
            for (const AlgorithmReport &report : planner.algorithms())
                plans_.algorithms.emplace_back(entry.name(), report);
            add(std::move(entry), graph);
        }
        return Status::ok();
    }

    const ir::Graph &graph_of(const devices::Traits &device, uint32_t capacity) const {
        const auto found = device_.reordered.find(capacity);
        return &device == device_.device && found != device_.reordered.end() ? found->second
                                                                             : graphs_.offline;
    }

    ChannelMajor channel_major(const devices::Traits &device, uint32_t capacity) const {
        const auto found = device_.channel_major.find(capacity);
        return &device == device_.device && found != device_.channel_major.end() ? found->second
                                                                                 : ChannelMajor();
    }

    Status plan_streams(const ir::Graph &stream) {
        const std::vector<uint32_t> blocks =
            options_.blocks.empty() ? std::vector{natural_block(stream)} : options_.blocks;
        LW_TRY(check_blocks(stream, blocks));
        std::vector<const devices::Traits *> devices{&devices::host()};
        if (device_.streams) devices.push_back(device_.device);
        LW_ASSIGN(StreamFamily family,
                  compiler::plan_streams(stream, blocks, options_.convolution, plans_.storage,
                                         tuning_.costs(), devices, {graphs_.by_channel, draft_}));
        no_stream_ = std::move(family.refused);
        plans_.record = std::move(family.record);
        std::move(family.algorithms.begin(), family.algorithms.end(), std::back_inserter(plans_.algorithms));
        for (EntryPlan &entry : family.entries) add(std::move(entry), stream);
        return Status::ok();
    }

    void add(EntryPlan entry, const ir::Graph &graph) {
        plans_.entries.push_back(std::move(entry));
        plans_.graphs.push_back(&graph);
    }

    const Graphs &graphs_;
    const DeviceEntries &device_;
    const Tuning &tuning_;
    const Options &options_;
    const bool draft_;
    Plans plans_;
    std::map<std::string, std::string> no_run_, no_stream_;
};

} // namespace

Expected<Plans> plan_entries(const Graphs &graphs, const DeviceEntries &device, const Tuning &tuning,
                             const Options &options, const Storage *like) {
    Entries entries(graphs, device, tuning, options, false, like);
    LW_TRY(entries.plan());
    return entries.laid_out();
}

Expected<Draft> draft_entries(const Graphs &graphs, const DeviceEntries &device, const Tuning &tuning,
                              const Options &options) {
    Entries entries(graphs, device, tuning, options, true, nullptr);
    LW_TRY(entries.plan());
    return entries.drafted();
}

} // namespace longwave::compiler
