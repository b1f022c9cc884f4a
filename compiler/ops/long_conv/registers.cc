// registers: offline runs on a GPU, one- or two-sided. One dispatch computes forward transform,
// product and inverse. The threads keep their points in registers. It has the spectrum of
// right_angle, in the order of its threads.
#include "compiler/ops/long_conv/gpu_costs.h"
#include "compiler/ops/support/register_transform.h"
#include "schedules/contract/kernels/long_conv_gpu.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

using schedules::RegisterForm;

std::optional<RegisterForm> form_of(const PlanContext &context, bool channel_major = false) {
    const Shape shape(context);
    const uint32_t length = schedules::register_length(context.rows);
    // A sequence that leaves most of the transform empty has a shorter one elsewhere.
    if (length == 0 || 2 * context.rows <= length) return std::nullopt;
    // Where rows lie channel by channel, threads run along the rows.
    const uint32_t lanes = shape.channels == 1 ? shape.copies : shape.padded;
    return ir::register_form(context, length, channel_major ? 1 : lanes);
}

Estimate estimate(const PlanContext &context) {
    const std::optional<RegisterForm> form = form_of(context);
    if (!form)
        return {.refused = fmt::format("{} rows have no transform in the registers of a workgroup (more "
                                       "than {} and at most {} rows, less with little shared memory)",
                                       context.rows, schedules::least_register_length / 2,
                                       schedules::most_register_length)};
    const Shape shape(context);
    const double padding = double(form->length) / context.rows;
    const GpuWork work{.bytes = registers_to_shared * (row_bytes * 2 + point_bytes * padding)};
    Estimate estimate{.cost = work.cost(shape, context)};
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("length", form->length);
    return estimate;
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    const std::optional<RegisterForm> form = form_of(call.context, call.channel_major(0));
    if (!form) return Status::internal("registers: no form for a sequence that it was chosen for");
    call.one_call();
    const auto spectrum = [&] { return spectrum_of(call, shape, one_partition(form->length), false); };
    call.kernel<contract::LongConvRegisters>(
        {.length = form->length, .rows = call.rows(), .copies = shape.copies, .channels = shape.channels},
        {.u = call.all_rows_of(0),
         // From the CPU's spectrum, which is then forgotten.
         .spectrum =
             ir::spectrum_by_threads(call, ir::SpectrumOrder(*form), shape.channels, shape.copies, spectrum),
         .roots = ir::register_roots(call, form->radices),
         .y = call.result_rows()});
    return Status::ok();
}

} // namespace

extern const ir::Algorithm registers;
const ir::Algorithm registers =
    offline_algorithm("registers", devices::gpu_kernels, estimate, no_demands, plan);

} // namespace longwave::compiler::convolution
