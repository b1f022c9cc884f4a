#include "compiler/ops/attention/matrix_state.h"
#include "schedules/contract/kernel.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::ir {

namespace {

constexpr uint32_t longest_chunk = 16;
// Rows per chunk. An offline run takes any number, because the last chunk may reach beyond the end.
// A block of a stream takes a divisor of its rows; below 2: there is none.
uint32_t chunk_rows(const PlanContext &context) {
    if (!context.streaming) return std::min(longest_chunk, std::max(2u, context.rows));
    uint32_t chunk = longest_chunk;
    while (context.rows % chunk) chunk--;
    return chunk;
}

} // namespace

StreamRule MatrixState::stream() const {
    const std::vector<uint32_t> dims{schedules::pad(heads * values), keys};
    StreamRule rule{.carries = {{high, Elem::f32, dims}}};
    if (low) rule.carries.push_back({low, Elem::f32, dims});
    return rule;
}

MatrixState matrix_of(const MatrixOp &op, const PlanContext &context) {
    std::vector<Type> types;
    for (const ValueId input : context.node.inputs) types.push_back(context.graph.type(input));
    return op.state(context.node, types);
}

Estimate estimate_step(const MatrixOp &op, const PlanContext &context) {
    return {.cost = op.pass * matrix_of(op, context).keys};
}

Estimate estimate_chunk(const MatrixOp &op, const PlanContext &context) {
    const uint32_t rows = chunk_rows(context), keys = matrix_of(op, context).keys;
    if (rows < 2)
        return {.refused = fmt::format("a block of {} rows does not divide into chunks of 2 to {}",
                                       context.rows, longest_chunk)};
    Estimate estimate{.cost = op.of_chunk * keys + op.pass * keys / rows};
    estimate.decisions.put("rows", rows);
    return estimate;
}

Estimate estimate_scan(const MatrixOp &op, const PlanContext &context) {
    return estimate_dispatches(context, matrix_of(op, context).keys + 2);
}

Reach reach_row(const PlanContext &, const Decisions &) { return {}; }
Status plan_step(const MatrixOp &op, KernelCall &call) {
    call.ordered_tiles(1);
    op.one_row(call, matrix_of(op, call.context));
    return Status::ok();
}

Status plan_chunk(const MatrixOp &op, KernelCall &call) {
    const uint32_t rows = call.decisions().at("rows");
    if (rows == 1) return plan_step(op, call);
    call.ordered_tiles(rows);
    op.several_rows(call, matrix_of(op, call.context), rows);
    return Status::ok();
}

} // namespace longwave::ir
