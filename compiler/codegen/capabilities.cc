#include "compiler/codegen/capabilities.h"
#include <set>

namespace longwave::compiler {

std::vector<std::string> kernels_of(const devices::Traits &device, const std::vector<EntryPlan> &entries) {
    std::set<std::string> specs;
    each_call(entries, device, [&](const EntryPlan &, const Step &step) { specs.insert(step.spec); });
    return {specs.begin(), specs.end()};
}

Status query_capabilities(Capabilities &known, const std::vector<std::string> &specs,
                          const devices::Traits &device, const KernelCacheOptions &options) {
    std::vector<KernelRequest> requests;
    for (const std::string &spec : specs)
        if (!known.knows(spec)) requests.push_back({spec, device.target->name});
    if (requests.empty()) return Status::ok();
    KernelCacheOptions all = options;
    all.keep_refused = true;
    LW_ASSIGN(const auto answers, compile_kernels(requests, all));
    for (size_t i = 0; i < answers.size(); i++)
        if (answers[i].refused.empty()) known.signatures[requests[i].spec] = answers[i].signature;
        else known.refused[requests[i].spec] = answers[i].refused;
    return Status::ok();
}

std::string refusal_of(const Step &step, const devices::Traits &device, const Capabilities &known) {
    const auto found = known.refused.find(step.spec);
    if (found != known.refused.end()) return found->second;
    return step.tiles > 1 && !device.tiles ? "it is computed in several calls" : "";
}

} // namespace longwave::compiler
