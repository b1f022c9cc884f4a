#include "compiler/plan/lifetimes.h"
#include <algorithm>
#include <numeric>

namespace longwave::compiler {

void measure_lifetimes(EntryPlan &plan) {
    const int count = static_cast<int>(plan.steps.size());
    std::vector<bool> seen(plan.buffers.size(), false);
    const auto touch = [&](BufferId id, int step) {
        if (!of_entry(id)) return;
        Buffer &b = plan.buffers[id];
        if (!seen[id]) b.first = b.last = step;
        b.first = std::min(b.first, step);
        b.last = std::max(b.last, step);
        seen[id] = true;
    };
    for (const auto &port : plan.inputs) touch(port.place.buffer, -1);
    for (int i = 0; i < count; i++)
        for (const auto &arg : plan.steps[i].args)
            if (auto *place = std::get_if<Place>(&arg)) touch(place->buffer, i);
    for (const auto &port : plan.outputs) touch(port.place.buffer, count);
    // Rebuilding happens between blocks, when nothing else in the arena is alive.
    for (size_t i = 0; i < plan.buffers.size(); i++)
        if (!seen[i]) plan.buffers[i].first = plan.buffers[i].last = -2;
    for (const auto &step : plan.steps) plan.period = std::lcm(plan.period, step.period);
    for (const auto &step : plan.rebuild) plan.period = std::lcm(plan.period, step.period);
    for (const auto &port : plan.outputs) plan.period = std::lcm(plan.period, port.period);
}

} // namespace longwave::compiler
