#include "compiler/driver/entries.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/stream_family.h"
#include "compiler/plan/windowed_stream.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace longwave::compiler {

namespace {

// The plan of whole sequences up to `capacity` on CPUs, and where a window is asked for, the same plan as a
// stream (`windows`); or on a GPU, beside that.
Status plan_run(Plans &plans, const ir::Graph &graph, uint32_t capacity, OnGpu *gpu, bool windows,
                const Tuning &tuning, const Options &options) {
    EntryPlanner planner(graph,
                         {.block = capacity,
                          .convolution = options.convolution,
                          .costs = &tuning.costs(),
                          .gpu = gpu ? gpu->target : nullptr,
                          .cpu_layers = gpu ? names_of(gpu->placed.cpu_layers) : std::set<std::string>{},
                          .halves = options.gpu_storage != "f32"},
                         plans.storage, plans.record);
    const auto planned = [&]() -> Expected<EntryPlan> {
        LW_TRY(planner.survey());
        return planner.plan({});
    }();
    if (gpu) gpu->refused.layers.insert(planner.refused().begin(), planner.refused().end());
    LW_ASSIGN(auto entry, planned);
    entry.one_of_several = !options.further_lengths.empty();
    std::vector<EntryPlan> entries;
    if (windows) entries.push_back(windowed_stream(entry, graph, options.hop, plans.record, plans.storage));
    if (options.whole) entries.insert(entries.begin(), std::move(entry));
    for (EntryPlan &made : entries) {
        for (const auto &report : planner.algorithms()) plans.algorithms.emplace_back(made.name(), report);
        plans.entries.push_back(std::move(made));
        plans.graphs.push_back(&graph);
    }
    return Status::ok();
}

Status plan_streams(Plans &plans, const ir::Graph &stream, const targets::Target *gpu, const Tuning &tuning,
                    const Options &options) {
    const std::vector<uint32_t> blocks =
        options.blocks.empty() ? std::vector{natural_block(stream)} : options.blocks;
    LW_TRY(check_blocks(stream, blocks));
    LW_ASSIGN(StreamFamily family,
              plan_streams(stream, blocks, options.convolution, plans.storage, tuning.costs(), gpu));
    plans.record = std::move(family.record);
    plans.algorithms.insert(plans.algorithms.end(), family.algorithms.begin(), family.algorithms.end());
    std::move(family.entries.begin(), family.entries.end(), std::back_inserter(plans.entries));
    plans.graphs.resize(plans.entries.size(), &stream);
    return Status::ok();
}

// What cannot be planned for the GPU is put down in `gpu.refused`.
Expected<Plans> plan_all(const ir::Graph &graph, const ir::Graph *stream, uint32_t capacity, OnGpu &gpu,
                         const Tuning &tuning, const Options &options) {
    Plans plans;
    const auto plan_runs = [&](OnGpu *on) -> Status {
        // A stream has all its layers on one device.
        const bool windows = options.window && (!on || (on->streams && on->placed.cpu_layers.empty()));
        if (options.whole || options.window)
            LW_TRY(plan_run(plans, graph, capacity, on, windows, tuning, options));
        for (uint32_t further : options.further_lengths)
            LW_TRY(plan_run(plans, graph, further, on, false, tuning, options));
        return Status::ok();
    };
    const auto put_down = [](const Status &status, std::string &refused) {
        if (status.fault() == Fault::input) refused = status.message();
        return status;
    };
    LW_TRY(plan_runs(nullptr));
    if (gpu.runs) LW_TRY(put_down(plan_runs(&gpu), gpu.refused.runs));
    if (stream && gpu.streams) {
        // What fails without the GPU fails again without it.
        LW_TRY(put_down(plan_streams(plans, *stream, gpu.target, tuning, options), gpu.refused.streams));
    } else if (stream) {
        LW_TRY(plan_streams(plans, *stream, nullptr, tuning, options));
    }
    if (EntryPlan &prepare = plans.storage.prepare(); !prepare.steps.empty()) {
        measure_lifetimes(prepare);
        plans.entries.insert(plans.entries.begin(), prepare);
        plans.graphs.insert(plans.graphs.begin(), nullptr);
    }
    plans.record.arrange(); // of a window, too
    for (auto &entry : plans.entries) plan_memory(entry);
    return plans;
}

bool automatic(const Options &options) { return options.place.automatic || !options.place.times.empty(); }

Status place_by_hand(OnGpu &gpu, const ir::Graph &graph, const Options &options) {
    if (options.place.cpu_layers.empty() && !automatic(options)) return Status::ok();
    if (!gpu.target) return Status::usage("--place: no --target of a GPU to place layers beside");
    if (options.gpu_storage != "f32")
        return Status::usage(
            "--place: values that cross between the devices are float32 on both; leave --gpu-storage " +
            options.gpu_storage + " out");
    LW_TRY(check_placement(options.place, graph));
    std::map<std::string, std::string> asked;
    for (const std::string &layer : options.place.cpu_layers) asked[layer] = "asked for";
    place(gpu.placed.cpu_layers, asked, fused_into(graph));
    return Status::ok();
}

// Why the layers that stand in the way of the GPU's runs are the CPU's from now on.
std::map<std::string, std::string> reasons(const OnGpu &gpu) {
    std::map<std::string, std::string> layers;
    for (const auto &[layer, why] : gpu.refused.layers)
        layers[layer] = fmt::format("does not run on {}: {}", gpu.target->name, why);
    return layers;
}

Status place_by_times(OnGpu &gpu, const Plans &plans, const ir::Graph &graph, const Options &options,
                      const std::string &model) {
    LW_ASSIGN(const MeasuredLayers measured,
              parse_layer_times(options.place.times, options.place.times_name, model));
    const auto run = std::find_if(plans.entries.begin(), plans.entries.end(), [](const EntryPlan &entry) {
        return entry.gpu && entry.kind == EntryPlan::Kind::run;
    });
    const Status status = place_measured(gpu.placed, *run, measured, fused_into(graph));
    return status ? status
                  : Status(status.fault(), fmt::format("{}: {}", options.place.times_name, status.message()));
}

std::string nothing_left(const OnGpu &gpu) {
    std::string text = fmt::format("no layer is left for {}", gpu.target->name);
    if (!gpu.placed.measured.empty())
        text += fmt::format(": by the times measured the CPU takes {:.0f} µs for all of them",
                            gpu.placed.cpu);
    return text;
}

// Whether a run of the GPU has a call that is its own.
bool any_on_gpu(const std::vector<EntryPlan> &entries) {
    for (const EntryPlan &entry : entries)
        for (const Step &step : entry.steps)
            if (entry.kind == EntryPlan::Kind::run && on_gpu(entry, step) && step.kind == Step::Kind::call)
                return true;
    return false;
}

} // namespace

// Whole runs on the GPU with what their steps hand to each other as float16.
static Status store_fp16(std::vector<EntryPlan> &entries, const targets::Target &gpu,
                           const Options &options) {
    LW_ASSIGN(const KernelSignatures signatures, signatures_on_gpu(entries, gpu, options));
    for (EntryPlan &entry : entries) {
        if (!entry.gpu || entry.kind != EntryPlan::Kind::run) continue;
        store_fp16(entry, signatures);
        plan_memory(entry);
    }
    return Status::ok();
}

Expected<Plans> plan_entries(const ir::Graph &graph, const ir::Graph *stream, uint32_t capacity, OnGpu &gpu,
                             const Tuning &tuning, const Options &options, const std::string &model) {
    LW_TRY(place_by_hand(gpu, graph, options));
    for (;;) {
        gpu.refused.layers.clear();
        auto plans = plan_all(graph, stream, capacity, gpu, tuning, options);
        if (plans && gpu.target) {
            LW_ASSIGN(const RefusedOnGpu found, refused_on_gpu(plans->entries, *gpu.target, options));
            if (gpu.runs) gpu.refused.runs = found.runs, gpu.refused.layers = found.layers;
            if (gpu.streams) gpu.refused.streams = found.streams;
        }
        if (gpu.runs && automatic(options) &&
            place(gpu.placed.cpu_layers, reasons(gpu), fused_into(graph))) {
            gpu.refused.runs.clear();
            continue;
        }
        if (plans && gpu.runs && gpu.refused.runs.empty() && !options.place.times.empty() &&
            gpu.placed.measured.empty()) {
            LW_TRY(place_by_times(gpu, *plans, graph, options, model));
            continue;
        }
        if (plans && gpu.runs && gpu.refused.runs.empty() && !any_on_gpu(plans->entries))
            gpu.refused.runs = nothing_left(gpu);
        const bool no_runs = gpu.runs && !gpu.refused.runs.empty(),
                   no_streams = gpu.streams && !gpu.refused.streams.empty();
        if (!no_runs && !no_streams) {
            if (plans && gpu.runs && options.gpu_storage == "f16")
                LW_TRY(store_fp16(plans->entries, *gpu.target, options));
            return plans;
        }
        if (no_runs) gpu.runs = false;
        if (no_streams) gpu.streams = false;
        // That the CPU takes less for every layer is an answer, and no refusal.
        if (!gpu.runs && !gpu.streams && gpu.placed.measured.empty())
            return Status::input(fmt::format(
                "{}\ncompile without --target {}: these layers run on CPUs{}",
                gpu.refused.runs.empty() ? gpu.refused.streams : gpu.refused.runs, gpu.target->name,
                gpu.placed.cpu_layers.empty() && options.whole
                    ? ", or with --place auto: the others run on it"
                    : ""));
    }
}

} // namespace longwave::compiler
