// overlap_add_phases: overlap_add for few channels. Vector lanes are the phases of a block, as in
// polyphase, so that no lane is idle.
#include "compiler/ops/long_conv/overlap_add.h"
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/twiddles.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

constexpr uint32_t most_channels = 16; // a row of one vector

// By the length of a block: sixteen blocks, forward and back, of one channel and of sixteen.
Expected<Row> measure(const Meter &meter, uint32_t length) {
    const uint32_t rows = 16 * length;
    const Meter::Params params{{"length", length}, {"rows", rows}};
    LW_ASSIGN(const double one, meter.element("long_conv_overlap_add_phases", params, rows, 1, 1));
    LW_ASSIGN(const double all,
              meter.element("long_conv_overlap_add_phases", params, rows, most_channels, most_channels));
    return Row{double(length), costs::rounded(one), costs::rounded(all)};
}

const CostTable blocks_table{
    .key = "overlap_add_phases", .columns = 3, .points = {256, 1024, 4096, 16384, 65536}, .measure = measure};
const CostTable *const tables[] = {&blocks_table};

Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    if (!shape.two_sided && shape.channels > most_channels)
        return {.refused = fmt::format("it serves at most {} channels", most_channels)};
    return cheapest_block(context, {.costs = blocks_table,
                                    .length_of = schedules::polyphase_length,
                                    .column = shape.channels > 1 ? 2u : 1u});
}

Status plan(KernelCall &call) { return plan_phases<contract::LongConvOverlapAddPhases>(call); }

} // namespace

extern const ir::Algorithm overlap_add_phases;
const ir::Algorithm overlap_add_phases =
    offline_algorithm("overlap_add_phases", devices::cpu_kernels, estimate, complete_blocks, plan, tables);

} // namespace longwave::compiler::convolution
