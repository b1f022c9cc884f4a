#include "compiler/ops/transforms/four_step.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/long_conv_gpu.h"
#include "schedules/contract/twiddles.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::ir {

namespace {

constexpr uint32_t complex_bytes = 2 * sizeof(float);
// The bytes of a buffer that a kernel can reach on every device (Vulkan 1.1,
// maxStorageBufferRange).
constexpr uint64_t most_bytes = uint64_t{128} << 20;

} // namespace

FourStep::FourStep(uint32_t of_channels, uint32_t padded, uint32_t of_copies, uint32_t of_rows,
                   uint32_t of_points)
    : channels(of_channels), tile(std::min(padded, schedules::lanes)), tiles(padded / tile),
      copies(of_copies), rows(of_rows), length(of_points), points(length) {
    uint32_t first = 1;
    for (const int radix : schedules::right_angle_radices(length)) {
        first *= static_cast<uint32_t>(radix);
        if (std::max(first, length / first) < std::max(points, length / points)) points = first;
    }
}

std::string FourStep::refused(const PlanContext &context, uint32_t bytes_of_a_point) const {
    const uint64_t most = context.device.workgroup_bytes / bytes_of_a_point;
    const uint32_t longest = std::max(points, length / points);
    if (points == length) return fmt::format("{} rows are too few", rows);
    if (longest > most)
        return fmt::format("{} rows are {} x {} points, and a workgroup has shared memory for {}", rows,
                           points, length / points, most);
    return refused_points(length, tiles * tile, copies);
}

std::string FourStep::refused_points(uint32_t length, uint32_t lanes, uint32_t copies) {
    const uint64_t bytes = uint64_t{length} * complex_bytes * lanes * copies;
    if (bytes <= most_bytes) return {};
    return fmt::format(
        "the points of all channels take {} MiB, and a buffer of a GPU may have no more than {}", bytes >> 20,
        most_bytes >> 20);
}

void FourStep::plan(KernelCall &call, Place spectrum, const Place &twiddles,
                    const std::optional<Circular> &circular) const {
    call.one_call();
    spectrum.tile_bytes = 0;
    const auto between = [&](const char *name, uint32_t of_copies) {
        return call.memory(name, Elem::f32, {tiles, of_copies, length, 2, tile}, KernelCall::Life::call);
    };
    const auto columns_of = [&](size_t input, const char *name) {
        const Place columns = between(name, 1);
        call.also(dispatch_step<contract::LongConvColumns>(
                      call, {.length = length, .points = points, .rows = rows, .channels = channels},
                      {.u = call.rows_at(input), .twiddles = twiddles, .points_out = columns}),
                  0);
        return columns;
    };
    const Place columns = columns_of(0, "columns"), middle = between("rows", copies);
    const bool adaptive = circular && circular->made;
    call.also(dispatch_step<contract::LongConvRows>(
                  call,
                  {.length = length,
                   .points = points,
                   .copies = copies,
                   .channels = channels,
                   .adaptive = adaptive,
                   .scale = adaptive ? circular->scale : 0.0},
                  {.points = columns,
                   .made = adaptive ? Given::Input(columns_of(*circular->made, "columns of the kernel"))
                                    : Given::Input(),
                   .spectrum = spectrum,
                   .twiddles = twiddles,
                   .points_out = middle}),
              0);
    call.kernel<contract::LongConvColumnsBack>(
        {.length = length,
         .points = points,
         .rows = rows,
         .copies = copies,
         .channels = channels,
         .circular = circular.has_value()},
        {.points = middle, .twiddles = twiddles, .y = call.result_rows()});
}

} // namespace longwave::ir
