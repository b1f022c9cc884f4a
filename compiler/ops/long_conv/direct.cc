// direct: a sum over taps. Best for few taps.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernels/long_conv.h"
#include <algorithm>

namespace longwave::compiler::convolution {
namespace {

// By rows of a call: what every element pays, and what each tap adds.
Expected<Row> measure(const Meter &meter, uint32_t rows) {
    const auto at = [&](uint32_t taps) {
        return meter.element("long_conv_direct",
                             {{"taps", taps}, {"rows", rows}, {"ring", (taps / rows + 2) * rows}}, rows,
                             costs::row_channels);
    };
    LW_ASSIGN(const double few, at(32));
    LW_ASSIGN(const double many, at(256));
    const double tap = std::max((many - few) / (256 - 32), 1e-4);
    return Row{double(rows), costs::rounded(std::max(few - 32 * tap, 0.01)), costs::rounded(tap)};
}

const CostTable direct_table{
    .key = "direct", .columns = 3, .points = {1, 2, 4, 8, 16, 32, 128}, .measure = measure};
const CostTable *const tables[] = {&direct_table};

Estimate estimate(const PlanContext &context) {
    if (context.node.integer("two_sided"))
        return {.refused = "it is one-sided, and the convolution has two sides"};
    const uint32_t taps = Shape(context).taps;
    const costs::Tables &costs = *context.costs;
    const double element =
        costs.at(direct_table, context.rows) + taps * costs.at(direct_table, context.rows, 2);
    Estimate estimate{.cost = idle_lanes(context) * element};
    estimate.decisions.put("taps", taps);
    return estimate;
}

Reach reach(const PlanContext &context, const Decisions &) { return {.history = Shape(context).taps - 1}; }

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    const ir::Ring ring = call.ring_of(0);
    call.kernel<contract::LongConvDirect>({.channels = shape.channels,
                                           .copies = shape.copies,
                                           .taps = shape.taps,
                                           .rows = call.rows(),
                                           .ring = ring.rows},
                                          {.u = ring.place,
                                           .k = taps_of(call, shape, true),
                                           .position = ring.position,
                                           .y = call.result_rows()});
    return Status::ok();
}

} // namespace

extern const ir::Algorithm direct;
const ir::Algorithm direct{
    .name = "direct", .estimate = estimate, .reach = reach, .plan = plan, .costs = tables};

} // namespace longwave::compiler::convolution
