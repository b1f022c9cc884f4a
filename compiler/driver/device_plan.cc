#include "compiler/driver/device_plan.h"
#include "compiler/codegen/capabilities.h"
#include "compiler/codegen/kernel_cache.h"
#include "compiler/driver/entries.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/channel_major.h"
#include "compiler/plan/entry_plan.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {
namespace {

// Decides which values of a device's offline runs lie channel by channel, and which of them have a copy
// in the other order (plan/channel_major.h).

// The nodes of these regions that read the value.
std::set<size_t> nodes_that_read(const ir::Graph &graph, const std::vector<Region> &regions,
                                 const Reorder &reorder) {
    const auto value = static_cast<ir::ValueId>(reorder.value);
    std::set<size_t> readers;
    for (const Region &region : regions) {
        if (!reorder.readers.contains(static_cast<int>(region.anchor))) continue;
        for (const ir::Node *node : nodes_of(graph, region))
            if (std::count(node->inputs.begin(), node->inputs.end(), value))
                readers.insert(static_cast<size_t>(node - graph.nodes.data()));
    }
    return readers;
}

Expected<ir::Graph> with_copies(const ir::Graph &graph, const std::vector<Reorder> &reorders) {
    const std::vector<Region> regions = fuse_regions(graph);
    std::vector<ValueCopy> copies;
    for (const Reorder &one : reorders)
        copies.push_back(
            {static_cast<ir::ValueId>(one.value), nodes_that_read(graph, regions, one), one.output});
    LW_ASSIGN(ir::Graph made, reorder_values(graph, copies));
    LW_TRY(ir::verify(made));
    return made;
}

// Sets `channel_major` and `reordered` of `device`. `draft`: its entries, whose kernels `known` has
// all. A run with copies is drafted again, and what that asks for is added to `known`. Errors: as
// draft_entries, query_capabilities and the pass.
Status choose_layouts(DeviceEntries &device, Capabilities &known, const std::vector<EntryPlan> &draft,
                      const Graphs &graphs, const Tuning &tuning, const Options &options,
                      const KernelCacheOptions &kernels) {
    // Values that cross between the devices lie row by row, and so do windows of a stream.
    if (!device.cpu_layers.empty() || options.window != 0) return Status::ok();
    const costs::DeviceCosts &costs = tuning.costs().device;
    const LayoutOptions free{.clears_tails = options.gpu_storage == "f32",
                             .dispatch_bytes = costs.ns_per_dispatch * costs.bytes_per_ns};
    for (const EntryPlan &entry : draft) {
        if (entry.kind != EntryPlan::Kind::run) continue;
        ValueLayouts layouts = find_layouts(entry, known.signatures, free);
        device.channel_major[entry.block] = std::move(layouts.channel_major);
        if (layouts.reorders.empty()) continue;
        LW_ASSIGN(device.reordered[entry.block], with_copies(graphs.offline, layouts.reorders));
    }
    if (device.reordered.empty()) return Status::ok();

    // The copies are values like others now, and each kernel reads the one that it can.
    LayoutOptions as_it_is = free;
    as_it_is.dispatch_bytes.reset();
    DeviceEntries runs = device;
    runs.streams = false;
    runs.channel_major.clear();
    LW_ASSIGN(const Draft again, draft_entries(graphs, runs, tuning, options));
    LW_TRY(query_capabilities(known, kernels_of(*device.device, again.entries), *device.device, kernels));
    for (const EntryPlan &entry : again.entries)
        if (device.reordered.contains(entry.block))
            device.channel_major[entry.block] = find_layouts(entry, known.signatures, as_it_is).channel_major;
    return Status::ok();
}

using Reasons = std::map<std::string, std::string>; // by layer

bool places_layers(const Options &options) { return options.place.automatic || !options.place.times.empty(); }

// The layers that the caller named.
Status place_by_hand(DevicePlan &plan, const ir::Graph &graph, const Options &options) {
    if (options.place.cpu_layers.empty() && !places_layers(options)) return Status::ok();
    if (!plan.entries.device) return Status::usage("--place: no --target of a GPU to place layers beside");
    if (options.gpu_storage != "f32")
        return Status::usage(
            "--place: values that cross between the devices are float32 on both; leave --gpu-storage " +
            options.gpu_storage + " out");
    LW_TRY(check_placement(options.place, graph));
    Reasons asked;
    for (const std::string &layer : options.place.cpu_layers) asked[layer] = "asked for";
    place(plan.placed.cpu_layers, asked, fused_into(graph));
    return Status::ok();
}

// Layers of one kind of entry that the device cannot compute, in the order of their steps.
class Refusals {
public:
    Refusals(const devices::Traits &device, EntryPlan::Kind kind) : device_(device), kind_(kind) {}

    void add(const std::vector<EntryPlan> &entries, const Capabilities &known) {
        each_call(entries, device_, [&](const EntryPlan &entry, const Step &step) {
            if (entry.kind == kind_) add(step.layer, refusal_of(step, device_, known));
        });
    }
    void add(const Reasons &layers) {
        for (const auto &[layer, why] : layers) add(layer, why);
    }

    const Reasons &layers() const { return layers_; }
    const std::string &lines() const { return lines_; }

private:
    void add(const std::string &layer, const std::string &why) {
        if (why.empty()) return;
        layers_.emplace(layer, why);
        const std::string line = fmt::format("layer {}: does not run on {}: {}", layer, device_.name, why);
        if (told_.insert(line).second) lines_ += (lines_.empty() ? "" : "\n") + line;
    }

    const devices::Traits &device_;
    const EntryPlan::Kind kind_;
    Reasons layers_;
    std::set<std::string> told_;
    std::string lines_;
};

// Layers that stand in the way move to the host.
void place_refused(DevicePlan &plan, const Reasons &refused, const ir::Graph &graph) {
    Reasons layers;
    for (const auto &[layer, why] : refused)
        layers[layer] = fmt::format("does not run on {}: {}", plan.entries.device->name, why);
    place(plan.placed.cpu_layers, layers, fused_into(graph));
}

Status place_by_times(DevicePlan &plan, const Graphs &graphs, const Tuning &tuning, const Options &options,
                      const std::string &model) {
    LW_ASSIGN(const MeasuredLayers measured,
              parse_layer_times(options.place.times, options.place.times_name, model));
    // A run with the refused layers on the host: its values and transfers are those that are
    // weighed.
    DeviceEntries offline = plan.entries;
    offline.streams = false;
    LW_ASSIGN(const Draft draft, draft_entries(graphs, offline, tuning, options));
    if (draft.entries.empty())
        return Status::usage(
            "--place with a file of times is for offline runs, and --no-whole asks for none");
    const Status status =
        place_measured(plan.placed, draft.entries.front(), measured, fused_into(graphs.offline));
    return status ? status
                  : Status(status.fault(), fmt::format("{}: {}", options.place.times_name, status.message()));
}

// Whether the device has a layer left in its offline runs.
bool any_left(const Draft &draft, const devices::Traits &device, const CpuLayers &placed) {
    bool left = false;
    each_call(draft.entries, device, [&](const EntryPlan &entry, const Step &step) {
        const bool offline = entry.kind == EntryPlan::Kind::run || entry.window;
        left = left || (offline && !placed.contains(step.layer));
    });
    return left;
}

std::string nothing_left(const DevicePlan &plan) {
    std::string text = fmt::format("no layer is left for {}", plan.entries.device->name);
    if (!plan.placed.measured.empty())
        text +=
            fmt::format(": by the times measured the CPU takes {:.0f} µs for all of them", plan.placed.cpu);
    return text;
}

} // namespace

Expected<DevicePlan> plan_for_device(const Graphs &graphs, const DeviceEntries &wanted, const Tuning &tuning,
                                     const Options &options, const KernelCacheOptions &kernels,
                                     const std::string &model) {
    DevicePlan plan{.entries = wanted};
    LW_TRY(place_by_hand(plan, graphs.offline, options));
    if (!wanted.device) return plan;
    plan.entries.cpu_layers = names_of(plan.placed.cpu_layers);

    LW_ASSIGN(const Draft draft, draft_entries(graphs, plan.entries, tuning, options));
    LW_TRY(query_capabilities(plan.capabilities, kernels_of(*wanted.device, draft.entries), *wanted.device,
                              kernels));
    Refusals runs(*wanted.device, EntryPlan::Kind::run), streams(*wanted.device, EntryPlan::Kind::stream);
    runs.add(draft.no_run);
    runs.add(draft.entries, plan.capabilities);
    streams.add(draft.no_stream);
    streams.add(draft.entries, plan.capabilities);
    plan.no_stream = streams.lines();

    if (!wanted.offline || !places_layers(options)) {
        plan.no_run = runs.lines();
    } else {
        place_refused(plan, runs.layers(), graphs.offline);
        plan.entries.cpu_layers = names_of(plan.placed.cpu_layers);
        if (!options.place.times.empty()) LW_TRY(place_by_times(plan, graphs, tuning, options, model));
        plan.entries.cpu_layers = names_of(plan.placed.cpu_layers);
    }
    if (wanted.offline && plan.no_run.empty() && !any_left(draft, *wanted.device, plan.placed.cpu_layers))
        plan.no_run = nothing_left(plan);
    plan.entries.offline = wanted.offline && plan.no_run.empty();
    if (plan.entries.offline)
        LW_TRY(
            choose_layouts(plan.entries, plan.capabilities, draft.entries, graphs, tuning, options, kernels));
    plan.entries.streams = wanted.streams && plan.no_stream.empty();
    // By measured times the host may take less for every layer.
    if (plan.entries.offline || plan.entries.streams || !plan.placed.measured.empty()) return plan;
    return Status::input(fmt::format("{}\ncompile without --target {}: these layers run on CPUs{}",
                                     plan.no_run.empty() ? plan.no_stream : plan.no_run, wanted.device->name,
                                     plan.placed.cpu_layers.empty() && options.offline
                                         ? ", or with --place auto: the others run on it"
                                         : ""));
}

Status check_kernels(DevicePlan &device, const std::vector<EntryPlan> &entries,
                     const KernelCacheOptions &kernels) {
    if (!device.entries.device) return Status::ok();
    const devices::Traits &traits = *device.entries.device;
    LW_TRY(query_capabilities(device.capabilities, kernels_of(traits, entries), traits, kernels));
    std::string lines;
    for (const EntryPlan::Kind kind : {EntryPlan::Kind::run, EntryPlan::Kind::stream}) {
        Refusals refusals(traits, kind);
        refusals.add(entries, device.capabilities);
        if (!refusals.lines().empty()) lines += refusals.lines() + "\n";
    }
    if (lines.empty()) return Status::ok();
    return Status::input(lines + "place these layers on the CPU as well: --place LAYER=cpu");
}

} // namespace longwave::compiler
