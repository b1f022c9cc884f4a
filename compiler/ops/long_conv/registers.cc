// registers: offline runs on a GPU, one- or two-sided. One dispatch computes forward transform,
// product and inverse. The threads keep their points in registers. It has the spectrum of
// right_angle, in the order of its threads.
#include "compiler/ops/long_conv/gpu_costs.h"
#include "schedules/contract/register_transform.h"
#include "schedules/contract/twiddles.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

using schedules::RegisterForm;

// An estimate: counts of instructions and of memory requests (docs/gpu.md), not a time on a GPU.
constexpr double cost_to_fused = 0.4;

// `lanes`: channels of a row that one workgroup may take; 0: all.
std::optional<RegisterForm> form_of(const PlanContext &context, uint32_t lanes = 0) {
    const Shape shape(context);
    const uint32_t length = schedules::register_length(context.rows);
    // A sequence that leaves most of the transform empty has a shorter one elsewhere.
    if (length == 0 || 2 * context.rows <= length) return std::nullopt;
    const schedules::WorkgroupLimits limits{static_cast<uint32_t>(context.device.workgroup_bytes),
                                            static_cast<uint32_t>(context.device.target->threads)};
    if (lanes == 0) lanes = shape.channels == 1 ? shape.copies : shape.padded;
    return schedules::register_form(length, lanes, limits);
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
    const GpuWork work{.bytes = cost_to_fused * (row_bytes * 2 + point_bytes * padding)};
    Estimate estimate{.cost = work.cost(shape, context.rows)};
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("length", form->length);
    return estimate;
}

// Computed when the model is opened, from the CPU's spectrum, which is then forgotten.
Place spectrum_by_threads(KernelCall &call, const Shape &shape, const RegisterForm &form) {
    const uint32_t copies = shape.channels == 1 ? 1 : shape.copies,
                   lanes = shape.channels == 1 ? shape.copies : shape.padded;
    bool fresh = false;
    const Place made = call.derived(
        fmt::format("{}.k spectrum {} by threads of {}", call.node.layer, form.length, form.lanes), Elem::f32,
        {lanes / form.lanes, copies, form.points / 2, form.threads(), 4}, &fresh);
    if (!fresh) return made;
    Place spectrum = spectrum_of(call, shape, {.length = form.length}, false);
    spectrum.tile_bytes = 0;
    Step step{.name = call.node.layer + " spectrum by threads", .layer = call.node.layer};
    step.spec = ir::kernel_spec("spectrum_by_threads", {{"length", int64_t{form.length}},
                                                        {"copies", int64_t{shape.copies}},
                                                        {"channels", int64_t{shape.channels}},
                                                        {"points", int64_t{form.points}},
                                                        {"lanes", int64_t{form.lanes}}});
    step.args = {spectrum,
                 call.stored("order", Packed::of(Elem::i32, {form.points, form.workers()},
                                                 schedules::register_spectrum_order(form))),
                 made};
    call.prepare(std::move(step));
    return made;
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    // Where rows lie channel by channel, threads run along the rows.
    const std::optional<RegisterForm> form = form_of(call.context, call.channel_major(0) ? 1 : 0);
    if (!form) return Status::internal("registers: no form for a sequence that it was chosen for");
    call.one_call();
    call.kernel("long_conv_registers");
    shape_params(call, shape);
    call.param("length", int64_t{form->length});
    call.param("rows", int64_t{call.rows()});
    call.read_all(0);
    call.weight(spectrum_by_threads(call, shape, *form));
    const std::vector<float> roots = schedules::register_roots(*form);
    call.weight("roots", Packed::f32({static_cast<uint32_t>(roots.size() / 4), 4}, roots));
    call.write();
    return Status::ok();
}

} // namespace

extern const ir::Algorithm registers;
const ir::Algorithm registers =
    offline_algorithm("registers", devices::gpu_kernels, estimate, no_demands, plan);

} // namespace longwave::compiler::convolution
