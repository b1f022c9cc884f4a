// right_angle: whole sequences, one complex transform of the sequence's length; two-sided as well.
#include "compiler/ops/long_conv/costs.h"
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

Estimate estimate(const PlanContext &context) {
    const uint32_t length = schedules::right_angle_length(context.rows);
    Estimate estimate{.cost = idle_lanes(context) * context.costs->transforms(length) * length /
                              context.rows};
    estimate.figures.put("taps", Shape(context).taps);
    estimate.figures.put("length", length);
    return estimate;
}

Reach reach(const PlanContext &, const Decisions &) { return {}; }

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    const uint32_t length = call.figures().at("length");
    call.kernel("long_conv_right_angle");
    call.channel_tiles(shape.tiles(), shape.tile * sizeof(float));
    shape_params(call, shape);
    call.param("length", int64_t{length});
    call.param("rows", int64_t{call.rows()});
    call.read_all(0);
    call.weight(spectrum_of(call, shape, {.length = length}));
    call.weight(twiddles(call, length));
    call.write();
    return Status::ok();
}

} // namespace

extern const ir::Algorithm right_angle;
const ir::Algorithm right_angle{.name = "right_angle",
                                .stream = devices::no_kernels,
                                .estimate = estimate,
                                .reach = reach,
                                .plan = plan};

} // namespace longwave::compiler::convolution
