// fused: offline runs on a GPU. One dispatch computes forward transform, product and inverse in
// shared memory.
#include "compiler/ops/long_conv/gpu_costs.h"
#include "schedules/contract/kernels/long_conv_gpu.h"
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

// A complex number of the sequence in shared memory: it is transformed in place.
constexpr uint32_t bytes_of_a_point = 2 * sizeof(float);

Estimate estimate(const PlanContext &context) {
    const uint32_t length = schedules::right_angle_length(context.rows);
    const uint64_t most = context.device.workgroup_bytes / bytes_of_a_point;
    if (length > most)
        return {.refused =
                    fmt::format("a sequence of {} rows is transformed by {} points, and a workgroup "
                                "has shared memory for {}: compile with --length {}, or for a target with "
                                "more",
                                context.rows, length, most, most)};
    const Shape shape(context);
    // Whoever can have one dispatch gets it, however few workgroups that is.
    const GpuWork work{.bytes = row_bytes / shape.copies + row_bytes + point_bytes * length / context.rows};
    Estimate estimate{.cost = work.cost(shape, context)};
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("length", length);
    return estimate;
}

// The spectrum is that of right_angle: one for both, where an artifact has both.
Place by_position(KernelCall &call, const Shape &shape, uint32_t length) {
    Place spectrum = spectrum_of(call, shape, one_partition(length));
    spectrum.tile_bytes = 0;
    return spectrum;
}

// Of rows that lie channel by channel, from the other one, which is then forgotten.
Place by_channel(KernelCall &call, const Shape &shape, uint32_t length) {
    bool fresh = false;
    const Place made = call.derived(fmt::format("{}.k spectrum {} by channel", call.node.layer, length),
                                    Elem::f32, {shape.padded, shape.copies, 2, length}, &fresh);
    if (!fresh) return made;
    Place from = spectrum_of(call, shape, one_partition(length), false);
    from.tile_bytes = 0;
    Step step{.name = call.node.layer + " spectrum by channel", .layer = call.node.layer};
    ir::set_kernel<ir::contract::SpectrumByChannel>(
        step, {.length = length, .copies = shape.copies, .channels = shape.channels},
        {.spectrum = from, .by_channel = made});
    call.prepare(std::move(step));
    return made;
}

Status plan(KernelCall &call) {
    const Shape shape(call.context);
    const uint32_t length = call.decisions().at("length");
    call.one_call();
    const bool channels_apart = call.channel_major(0);
    call.kernel<contract::LongConvFused>(
        {.length = length, .rows = call.rows(), .copies = shape.copies, .channels = shape.channels},
        {.u = call.all_rows_of(0),
         .spectrum = channels_apart ? by_channel(call, shape, length) : by_position(call, shape, length),
         .twiddles =
             twiddles(call, length, channels_apart ? TwiddleOrder::by_factor : TwiddleOrder::by_block),
         .y = call.result_rows()});
    return Status::ok();
}

} // namespace

extern const ir::Algorithm fused;
const ir::Algorithm fused = offline_algorithm("fused", devices::gpu_kernels, estimate, no_demands, plan);

} // namespace longwave::compiler::convolution
