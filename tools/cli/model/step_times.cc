#include "tools/cli/model/step_times.h"
#include "runtime/watch/watched_cpu.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/stream.h"
#include "tools/cli/output/text.h"
#include <algorithm>

namespace longwave::cli {
namespace {

constexpr double least_seconds = 0.2; // for each entry
constexpr size_t most_firings = 2000; // of a step, so that memory stays small

struct Watch {
    std::vector<std::vector<std::vector<double>>> us; // [entry][step]: each firing

    explicit Watch(const fb::Plan &plan) {
        for (const auto *entry : *plan.entries()) us.emplace_back(entry->steps()->size());
    }
    static void told(void *context, const runtime::StepRun &run) {
        if (run.step == runtime::all_steps) return;
        auto &times = static_cast<Watch *>(context)->us[run.entry][run.step];
        if (times.size() < most_firings)
            times.push_back(1e-3 * static_cast<double>(run.end_ns - run.begin_ns));
    }
    void forget() {
        for (auto &entry : us)
            for (auto &step : entry) step.clear();
    }
};

double median(std::vector<double> &values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Status run_offline(const Model &model, Watch &watch) {
    const Sequence in = made_up(model, model.info.run_capacity, 3);
    LW_ASSIGN(Runner runner, Runner::create(model));
    LW_ASSIGN(const auto first, runner.run(in)); // warms the caches
    watch.forget();
    const double start = now();
    for (int i = 0; i < 3 || now() - start < least_seconds; i++) {
        LW_ASSIGN(const auto rows, runner.run(in));
    }
    return {};
}

Status run_stream(const Model &model, uint32_t entry, Watch &watch) {
    const size_t block = model.entry(entry).block, blocks = 16;
    const Sequence in = made_up(model, blocks * block, 3);
    LW_ASSIGN(Stream stream, Stream::create(model, LW_F32, entry));
    const auto nothing = [](const StreamRow &) {};
    LW_TRY(stream.push(in.data(0), in.rows, nothing));
    watch.forget();
    const double start = now();
    const size_t least = 5 * size_t{model.entry(entry).period} / blocks + 1;
    for (size_t i = 0; i < least || now() - start < least_seconds; i++)
        LW_TRY(stream.push(in.data(0), in.rows, nothing));
    return {};
}

void keep(Watch &watch, StepTimes &times) {
    for (size_t e = 0; e < watch.us.size(); e++)
        for (size_t s = 0; s < watch.us[e].size(); s++)
            if (!watch.us[e][s].empty()) times.us[e][s] = median(watch.us[e][s]);
}

} // namespace

Expected<std::vector<StepTimes>> measure_steps(const ArtifactFile &file, const ModelFlags &flags) {
    const fb::Plan &plan = file.plan();
    std::vector<StepTimes> all;
    for (const auto *variant : *plan.variants()) {
        if (!runs_here(*variant)) continue;
        Watch watch(plan);
        ModelFlags open = flags;
        open.variant = variant->target()->str();
        open.watched = std::shared_ptr<lw_device>(runtime::watched_cpu_create(Watch::told, &watch),
                                                  runtime::watched_cpu_destroy);
        if (!open.watched) return Status::device("--time: no memory for a device");
        LW_ASSIGN(const Model model, Model::open(open));
        StepTimes times{open.variant, {}};
        for (const auto *entry : *plan.entries()) times.us.emplace_back(entry->steps()->size());
        if (model.info.has_run) LW_TRY(run_offline(model, watch));
        keep(watch, times);
        for (uint32_t e = 0; e < model.info.stream_entries; e++) {
            LW_TRY(run_stream(model, e, watch));
            keep(watch, times);
        }
        all.push_back(std::move(times));
    }
    return all;
}

} // namespace longwave::cli
