#include "compiler/plan/choose.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

// Whether the device has a kernel of the algorithm for this kind of entry.
bool has_kernel(const ir::Algorithm &algorithm, const ir::PlanContext &context) {
    return context.device.has_any_of(context.streaming ? algorithm.stream : algorithm.offline);
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
        if (!has_kernel(*algorithm, context)) continue;
        ir::Estimate estimate = algorithm->estimate(context);
        if (forced && !estimate.refused.empty())
            return Status::usage(fmt::format("--convolution {} does not apply: {}", force, estimate.refused));
        if (forced)
            return Choice{.algorithm = algorithm, .decisions = estimate.decisions, .cost = estimate.cost};
        if (estimate.refused.empty()) candidates.push_back({algorithm, std::move(estimate)});
        else
            reasons +=
                fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", algorithm->name, estimate.refused);
    }
    if (candidates.empty())
        return Status::input(fmt::format("no algorithm computes this {} ({})", context.node.op->name,
                                         reasons.empty() ? "there is none for this device" : reasons));
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
        return a.estimate.cost < b.estimate.cost;
    });
    const Candidate &best = candidates[0];
    Choice choice{.algorithm = best.algorithm,
                  .decisions = best.estimate.decisions,
                  .cost = best.estimate.cost,
                  .refused = reasons};
    if (candidates.size() > 1)
        choice.runner_up = fmt::format("{}, +{:.0f} %", candidates[1].algorithm->name,
                                       100 * (candidates[1].estimate.cost / choice.cost - 1));
    return choice;
}

Status check_algorithm_name(const std::string &name) {
    if (name.empty()) return Status::ok();
    const std::vector<std::string> known = ir::algorithm_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) return Status::ok();
    return Status::usage(fmt::format("--convolution {}: expected one of {}", name, fmt::join(known, ", ")));
}

} // namespace longwave::compiler
