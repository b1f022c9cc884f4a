#include "compiler/codegen/extents.h"
#include "formats/artifact/rules.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace longwave::compiler {
namespace {

// The largest number a kernel is specified by: rows, rings, lengths.
uint64_t largest_parameter(const std::string &spec) {
    const auto parsed = nlohmann::json::parse(spec, nullptr, false);
    const auto params = parsed.is_object() ? parsed.find("params") : parsed.end();
    uint64_t largest = 0;
    if (params == parsed.end()) return largest;
    for (const auto &value : *params)
        if (value.is_number_unsigned()) largest = std::max(largest, value.get<uint64_t>());
    return largest;
}

} // namespace

Status check_extents(const std::vector<EntryPlan> &entries) {
    for (const EntryPlan &entry : entries) {
        if (entry.kind == EntryPlan::Kind::prepare) continue; // as long as the model, whatever was asked for
        const bool run = entry.kind == EntryPlan::Kind::run;
        for (const Step &step : entry.steps) {
            const uint64_t largest = step.kind == Step::Kind::call ? largest_parameter(step.spec) : 0;
            if (largest <= artifact::cap::extent) continue;
            return Status::usage(fmt::format("{} of {} ticks: step {} needs {} rows at once, and a kernel "
                                             "takes at most {}; pass a smaller {}",
                                             run ? "--length: a whole sequence" : "--block: a block",
                                             entry.block, step.name, largest, artifact::cap::extent,
                                             run ? "--length" : "--block"));
        }
    }
    return Status::ok();
}

} // namespace longwave::compiler
