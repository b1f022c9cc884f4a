// four_step: offline runs on a GPU of sequences that are longer than shared memory, one- or
// two-sided. It computes the transform of right_angle as a matrix: columns, then rows with the
// product, then columns back, one dispatch each. It has the spectrum of right_angle. Where threads
// have enough registers the points stay there.
#include "compiler/ops/long_conv/gpu_costs.h"
#include "compiler/ops/transforms/four_step_registers.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

// A complex number in shared memory: columns and rows are transformed in place.
constexpr uint32_t bytes_of_a_point = 2 * sizeof(float);

ir::FourStep form_of(const PlanContext &context) {
    const Shape shape(context);
    return {shape.channels, shape.padded, shape.copies, context.rows,
            schedules::right_angle_length(context.rows)};
}

std::optional<ir::RegisterFourStep> in_registers(const PlanContext &context) {
    const Shape shape(context);
    return ir::RegisterFourStep::of(context, shape.channels, shape.copies, context.rows,
                                    schedules::register_multiple(context.rows));
}

// Columns read u and write points, rows read these and the spectrum, columns back read what rows
// wrote.
GpuWork work_of(const Shape &shape, double padding, double workgroups) {
    const double copies = shape.copies;
    return {.bytes = row_bytes / copies + row_bytes + point_bytes * (1 / copies + 4) * padding,
            .workgroups = workgroups,
            .dispatches = 3};
}

Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    Estimate estimate;
    GpuWork work;
    if (const auto registers = in_registers(context)) {
        const schedules::FourStepForm &form = registers->form;
        work = work_of(shape, double(form.length()) / context.rows,
                       double(shape.padded) / form.rows.lanes * form.columns.length);
        work.bytes *= registers_to_shared;
        estimate.decisions.put("taps", shape.taps);
        estimate.decisions.put("length", form.length());
        estimate.decisions.put("points", form.columns.length);
    } else {
        const ir::FourStep form = form_of(context);
        if (std::string refused = form.refused(context, bytes_of_a_point); !refused.empty())
            return {.refused = std::move(refused)};
        work = work_of(shape, double(form.length) / context.rows,
                       double(form.tiles) * std::min(form.points, form.length / form.points));
        estimate.decisions.put("taps", shape.taps);
        estimate.decisions.put("length", form.length);
        estimate.decisions.put("points", form.points);
    }
    estimate.cost = work.cost(shape, context);
    estimate.decisions.put("dispatches", work.dispatches);
    return estimate;
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    if (const auto registers = in_registers(call.context)) {
        registers->plan(
            call, [&] { return spectrum_of(call, shape, {.length = registers->form.length()}, false); });
        return Status::ok();
    }
    const ir::FourStep form = form_of(call.context);
    const Place spectrum = spectrum_of(call, shape, {.length = form.length});
    form.plan(call, spectrum, twiddles(call, form.length));
    return Status::ok();
}

} // namespace

extern const ir::Algorithm four_step;
const ir::Algorithm four_step =
    offline_algorithm("four_step", devices::gpu_kernels, estimate, no_demands, plan);

} // namespace longwave::compiler::convolution
