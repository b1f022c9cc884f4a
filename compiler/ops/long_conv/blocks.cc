// blocks: offline runs on a GPU of sequences that are longer than shared memory. The partitions of
// the kernel are as long as a block of the sequence. One dispatch per block: y_q = Re z_q + Im z_(q
// − 1).
#include "compiler/ops/long_conv/gpu_costs.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

// Two complex numbers of a block in shared memory: its transform, and the products.
constexpr uint32_t bytes_of_a_point = 4 * sizeof(float);
constexpr uint32_t most_blocks = 1024;

Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    if (shape.two_sided) return {.refused = "it is one-sided, and the convolution has two sides"};
    if (shape.tile == 1)
        return {.refused = "the spectra of a single channel lie too close for a GPU's buffers"};
    const auto block = static_cast<uint32_t>(context.device.workgroup_bytes / bytes_of_a_point);
    const uint32_t blocks = (context.rows + block - 1) / block;
    if (blocks > most_blocks)
        return {.refused = fmt::format("{} blocks of {} rows are more than {}", blocks, block, most_blocks)};
    // Each block reads the spectra of all partitions and of as many blocks, of which its own is in
    // shared memory and is written, and the tail, which it writes as well.
    const uint32_t partitions = (shape.taps + block - 1) / block;
    const double copies = shape.copies, spectra = partitions + (partitions - 1 + 1 / copies);
    const GpuWork work{.bytes = row_bytes / copies + 3 * row_bytes + point_bytes * spectra,
                       .workgroups = double(shape.padded) * shape.copies,
                       .dispatches = blocks};
    Estimate estimate{.cost = work.cost(shape, context)};
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("length", block);
    estimate.decisions.put("partitions", partitions);
    estimate.decisions.put("dispatches", blocks);
    return estimate;
}

Status plan(KernelCall &call) {
    const uint32_t block = call.decisions().at("length");
    call_partitioned(call, Shape(call.context),
                     {.rows = block, .length = block, .count = call.decisions().at("partitions")});
    return Status::ok();
}

} // namespace

extern const ir::Algorithm blocks;
const ir::Algorithm blocks =
    offline_algorithm("blocks", devices::gpu_kernels, estimate, complete_blocks, plan);

} // namespace longwave::compiler::convolution
