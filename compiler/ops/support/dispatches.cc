#include "compiler/ops/support/dispatches.h"
#include <algorithm>

namespace longwave::ir {

namespace {

// Mesa's software driver ends the loops of a thread after 65,535 trips, and drivers of desktops end a
// dispatch that takes seconds.
constexpr uint32_t most_trips = 60000;

} // namespace

Estimate estimate_dispatches(const PlanContext &context, uint32_t trips) {
    const uint32_t most = std::max(1u, most_trips / trips), calls = (context.rows + most - 1) / most;
    uint32_t rows = (context.rows + calls - 1) / calls;
    while (context.streaming && context.rows % rows) --rows;
    Estimate estimate{.cost = 1};
    estimate.decisions.put("rows", rows);
    if (context.rows > rows) estimate.decisions.put("dispatches", (context.rows + rows - 1) / rows);
    return estimate;
}

Reach reach_rows(const PlanContext &context, const Decisions &decisions) {
    return {.multiple = context.streaming ? 1 : decisions.at("rows")};
}

} // namespace longwave::ir
