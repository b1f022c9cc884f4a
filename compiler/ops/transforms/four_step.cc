#include "compiler/ops/transforms/four_step.h"
#include "schedules/contract/kernel.h"
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

compiler::Step dispatch_step(const KernelCall &call, const char *kernel, const Attributes &params,
                             std::vector<compiler::Argument> args) {
    return {.name = fmt::format("{} {}", call.node.layer, kernel),
            .layer = call.node.layer,
            .spec = kernel_spec(kernel, params),
            .writes = 1,
            .args = std::move(args)};
}

void FourStep::plan(KernelCall &call, Place spectrum, const Place &twiddles,
                    const std::optional<Circular> &circular) const {
    call.one_call();
    spectrum.tile_bytes = 0;
    const Attributes common = {
        {"length", int64_t{length}}, {"points", int64_t{points}}, {"channels", int64_t{channels}}};
    const auto between = [&](const char *name, uint32_t of_copies) {
        return call.memory(name, Elem::f32, {tiles, of_copies, length, 2, tile}, KernelCall::Life::call);
    };
    const auto dispatch = [&](const char *kernel, Attributes params, std::vector<compiler::Argument> args) {
        params.insert(common.begin(), common.end());
        call.also(dispatch_step(call, kernel, params, std::move(args)), 0);
    };
    const auto columns_of = [&](size_t input, const char *name) {
        const Place columns = between(name, 1);
        dispatch("long_conv_columns", {{"rows", int64_t{rows}}}, {call.rows_at(input), twiddles, columns});
        return columns;
    };
    const Place columns = columns_of(0, "columns"), middle = between("rows", copies);
    if (circular && circular->made) {
        const Place made = columns_of(*circular->made, "columns of the kernel");
        dispatch("long_conv_rows", {{"adaptive", int64_t{1}}, {"scale", circular->scale}},
                 {columns, made, spectrum, twiddles, middle});
    } else {
        dispatch("long_conv_rows", {{"copies", int64_t{copies}}}, {columns, spectrum, twiddles, middle});
    }
    call.kernel("long_conv_columns_back");
    for (const auto &[name, value] : common) call.param(name, value);
    call.param("copies", int64_t{copies});
    call.param("rows", int64_t{rows});
    if (circular) call.param("circular", int64_t{1});
    call.input(middle);
    call.weight(twiddles);
    call.write();
}

} // namespace longwave::ir
