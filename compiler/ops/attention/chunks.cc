#include "compiler/ops/attention/chunks.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::ir {

namespace {

constexpr uint32_t longest_chunk = 16;
// Turns of all loops of a thread together: Mesa's software driver ends them after 65,535, and
// drivers of desktops end a dispatch that takes seconds.
constexpr uint32_t most_turns = 60000;

} // namespace

uint32_t chunk_rows(const PlanContext &context) {
    if (!context.streaming) return std::min(longest_chunk, std::max(2u, context.rows));
    uint32_t chunk = longest_chunk;
    while (context.rows % chunk) chunk--;
    return chunk;
}

Estimate estimate_chunk(const PlanContext &context, double each, double state) {
    const uint32_t rows = chunk_rows(context);
    if (rows < 2)
        return {.refused = fmt::format("a block of {} rows does not divide into chunks of 2 to {}",
                                       context.rows, longest_chunk)};
    Estimate estimate{.cost = each + state / rows};
    estimate.decisions.put("rows", rows);
    return estimate;
}

Reach reach_row(const PlanContext &, const Decisions &) { return {}; }
Reach reach_chunk(const PlanContext &context, const Decisions &decisions) {
    return {.multiple = context.streaming ? 1 : decisions.at("rows")};
}

Estimate estimate_scan(const PlanContext &context) {
    const auto heads = static_cast<uint32_t>(context.node.integer("heads"));
    const uint32_t of_state = context.type(0).width() / heads, // a row steps through
        most = std::max(1u, most_turns / (of_state + 2)), calls = (context.rows + most - 1) / most;
    uint32_t rows = (context.rows + calls - 1) / calls;
    while (context.streaming && context.rows % rows) --rows;
    Estimate estimate{.cost = 1};
    estimate.decisions.put("rows", rows);
    if (context.rows > rows) estimate.decisions.put("dispatches", (context.rows + rows - 1) / rows);
    return estimate;
}
Reach reach_scan(const PlanContext &context, const Decisions &decisions) {
    return {.multiple = context.streaming ? 1 : decisions.at("rows")};
}

} // namespace longwave::ir
