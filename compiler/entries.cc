#include "compiler/entries.h"
#include "compiler/passes/plan_memory.h"
#include "compiler/planner/stream_family.h"
#include "compiler/planner/windowed_stream.h"
#include <fmt/format.h>
#include <iterator>

namespace longwave::compiler {

namespace {

// The plan of whole sequences up to `capacity` on processors, and where a window is asked for, the same plan as a
// stream (`windows`); or on a GPU, beside that.
Status plan_run(Plans &plans, const ir::Graph &graph, uint32_t capacity, const targets::Target *gpu,
                bool windows, const Tuning &tuning, const Options &options) {
    EntryPlanner planner(graph,
                         {.block = capacity,
                          .convolution = gpu ? "" : options.convolution,
                          .costs = &tuning.costs(),
                          .gpu = gpu,
                          .halves = options.gpu_storage != "f32"},
                         plans.storage, plans.record);
    LW_TRY(planner.survey());
    LW_ASSIGN(auto entry, planner.plan({}));
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
    const auto plan_runs = [&](const targets::Target *on) -> Status {
        const bool windows = options.window && (!on || gpu.streams);
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
    if (gpu.runs) LW_TRY(put_down(plan_runs(gpu.target), gpu.refused.runs));
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
    for (auto &entry : plans.entries) plan_memory(entry);
    return plans;
}

} // namespace

// Whole runs on the GPU with what their steps hand to each other as float16.
static Status store_halves(std::vector<EntryPlan> &entries, const targets::Target &gpu,
                           const Options &options) {
    LW_ASSIGN(const KernelSignatures signatures, signatures_on_gpu(entries, gpu, options));
    for (EntryPlan &entry : entries) {
        if (!entry.gpu || entry.kind != EntryPlan::Kind::run) continue;
        store_halves(entry, signatures);
        plan_memory(entry);
    }
    return Status::ok();
}

Expected<Plans> plan_entries(const ir::Graph &graph, const ir::Graph *stream, uint32_t capacity, OnGpu &gpu,
                             const Tuning &tuning, const Options &options) {
    for (;;) {
        auto plans = plan_all(graph, stream, capacity, gpu, tuning, options);
        if (plans && gpu.target) {
            LW_ASSIGN(const RefusedOnGpu found, refused_on_gpu(plans->entries, *gpu.target, options));
            if (gpu.runs) gpu.refused.runs = found.runs;
            if (gpu.streams) gpu.refused.streams = found.streams;
        }
        const bool no_runs = gpu.runs && !gpu.refused.runs.empty(),
                   no_streams = gpu.streams && !gpu.refused.streams.empty();
        if (!no_runs && !no_streams) {
            if (plans && gpu.runs && options.gpu_storage == "f16")
                LW_TRY(store_halves(plans->entries, *gpu.target, options));
            return plans;
        }
        if (no_runs) gpu.runs = false;
        if (no_streams) gpu.streams = false;
        if (!gpu.runs && !gpu.streams)
            return Status::input(fmt::format(
                "{}\ncompile without --target {}: these layers run on processors",
                gpu.refused.runs.empty() ? gpu.refused.streams : gpu.refused.runs, gpu.target->name));
    }
}

} // namespace longwave::compiler
