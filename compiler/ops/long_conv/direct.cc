// direct: a sum over taps, for few of them.
#include "compiler/ops/long_conv/costs.h"
#include "compiler/ops/long_conv/kernels.h"

namespace longwave::compiler::convolution {
namespace {

Estimate estimate(const PlanContext &context) {
    if (context.node.integer("two_sided"))
        return {.refused = "it is one-sided, and the convolution has two sides"};
    const uint32_t taps = Shape(context).taps;
    Estimate estimate{.cost = idle_lanes(context) * context.costs->direct(context.rows, taps)};
    estimate.figures.put("taps", taps);
    return estimate;
}

Reach reach(const PlanContext &context, const Decisions &) { return {.history = Shape(context).taps - 1}; }

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    call.kernel("long_conv_direct");
    shape_params(call, shape);
    call.param("taps", int64_t{shape.taps});
    call.param("rows", int64_t{call.rows()});
    call.read_ring(0);
    call.weight(taps_of(call, shape, true));
    call.write();
    return Status::ok();
}

} // namespace

extern const ir::Algorithm direct;
const ir::Algorithm direct{.name = "direct", .estimate = estimate, .reach = reach, .plan = plan};

} // namespace longwave::compiler::convolution
