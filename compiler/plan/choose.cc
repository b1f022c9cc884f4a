#include "compiler/plan/choose.h"
#include "targets/target.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

using Where = ir::Algorithm::Where;

// Whether an algorithm is for other places: whole sequences, streams, processors or a GPU.
bool elsewhere(const ir::Algorithm &algorithm, const ir::PlanContext &context) {
    // A stream on a GPU may take one for CPUs whose calls are a dispatch each, with state of the same form.
    const bool gpu_stream = context.gpu && context.streaming;
    if ((algorithm.where == Where::gpu) != (context.gpu != nullptr) && !gpu_stream) return true;
    if (gpu_stream && algorithm.where == Where::gpu) return false;
    if (algorithm.where == Where::cpu_streams) return gpu_stream || !context.streaming;
    return context.streaming ? algorithm.where == Where::whole_sequences
                               : algorithm.where == Where::streams;
}

struct Candidate {
    const ir::Algorithm *algorithm;
    ir::Estimate estimate;
};

} // namespace

Expected<Choice> choose(const ir::PlanContext &context, const std::string &force) {
    std::vector<Candidate> candidates;
    std::string reasons;
    for (const ir::Algorithm *algorithm : context.node.op->algorithms) {
        const bool forced = force == algorithm->name;
        if (elsewhere(*algorithm, context)) continue;
        ir::Estimate estimate = algorithm->estimate(context);
        if (forced && !estimate.refused.empty())
            return Status::usage(fmt::format("--convolution {} does not apply: {}", force, estimate.refused));
        if (forced) return Choice{.algorithm = algorithm, .figures = estimate.figures, .cost = estimate.cost};
        if (estimate.refused.empty()) candidates.push_back({algorithm, std::move(estimate)});
        else
            reasons +=
                fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", algorithm->name, estimate.refused);
    }
    if (candidates.empty())
        return Status::input(
            context.gpu
                ? fmt::format("no algorithm computes this {} on {} ({}): leave that target out",
                              context.node.op->name, context.gpu->name,
                              reasons.empty() ? "there is none for a GPU" : reasons)
                : fmt::format("no algorithm computes this {} ({})", context.node.op->name, reasons));
    // What is made for a GPU goes before what would do there, too.
    const auto for_gpu = [](const Candidate &candidate) { return candidate.algorithm->where == Where::gpu; };
    if (std::any_of(candidates.begin(), candidates.end(), for_gpu))
        std::erase_if(candidates, [&](const Candidate &candidate) { return !for_gpu(candidate); });
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
        return a.estimate.cost < b.estimate.cost;
    });
    const Candidate &best = candidates[0];
    Choice choice{.algorithm = best.algorithm, .figures = best.estimate.figures, .cost = best.estimate.cost};
    if (candidates.size() > 1)
        choice.runner_up = fmt::format("{}, +{:.0f} %", candidates[1].algorithm->name,
                                       100 * (candidates[1].estimate.cost / choice.cost - 1));
    return choice;
}

Status check_algorithm_name(const std::string &name) {
    if (name.empty()) return Status::ok();
    std::vector<std::string_view> known; // two ops may have algorithms of one name
    for (const ir::OpDef *op : ir::all_ops())
        for (const ir::Algorithm *algorithm : op->algorithms) {
            if (name == algorithm->name) return Status::ok();
            if (std::find(known.begin(), known.end(), algorithm->name) == known.end())
                known.push_back(algorithm->name);
        }
    return Status::usage(fmt::format("--convolution {}: expected one of {}", name, fmt::join(known, ", ")));
}

} // namespace longwave::compiler
