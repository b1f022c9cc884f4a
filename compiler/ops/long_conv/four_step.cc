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

Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    uint32_t length = 0, points = 0; // of the transform, and of a column
    GpuWork work{.dispatches = 3};
    double to_shared = 1;
    if (const auto registers = in_registers(context)) {
        const schedules::FourStepForm &form = registers->form;
        length = form.length(), points = form.columns.length, to_shared = registers_to_shared;
        work.workgroups = double(shape.padded) / form.rows.lanes * points;
    } else {
        const ir::FourStep form = form_of(context);
        if (std::string refused = form.refused(context, bytes_of_a_point); !refused.empty())
            return {.refused = std::move(refused)};
        length = form.length, points = form.points;
        work.workgroups = double(form.tiles) * std::min(points, length / points);
    }
    // Columns read u and write points, rows read these and the spectrum, columns back read what
    // rows wrote.
    const double copies = shape.copies, padding = double(length) / context.rows;
    work.bytes = to_shared * (row_bytes / copies + row_bytes + point_bytes * (1 / copies + 4) * padding);
    Estimate estimate{.cost = work.cost(shape, context)};
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("length", length);
    estimate.decisions.put("points", points);
    estimate.decisions.put("dispatches", work.dispatches);
    return estimate;
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    if (const auto registers = in_registers(call.context)) {
        registers->plan(
            call, [&] { return spectrum_of(call, shape, one_partition(registers->form.length()), false); });
        return Status::ok();
    }
    const ir::FourStep form = form_of(call.context);
    const Place spectrum = spectrum_of(call, shape, one_partition(form.length));
    form.plan(call, spectrum, twiddles(call, form.length));
    return Status::ok();
}

} // namespace

extern const ir::Algorithm four_step;
const ir::Algorithm four_step =
    offline_algorithm("four_step", devices::gpu_kernels, estimate, no_demands, plan);

} // namespace longwave::compiler::convolution
