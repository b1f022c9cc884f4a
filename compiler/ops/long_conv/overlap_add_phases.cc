// overlap_add_phases: overlap_add for one channel. Vector lanes are the phases of a block, as in
// polyphase, so that no lane is idle.
#include "compiler/ops/long_conv/overlap_add.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

// By the length of a block: sixteen blocks, forward and back.
Expected<Row> measure(const Meter &meter, uint32_t length) {
    const uint32_t rows = 16 * length;
    const Meter::Params params{{"length", length}, {"rows", rows}};
    LW_ASSIGN(const double ns, meter.element("long_conv_overlap_add_phases", params, rows, 1, 1));
    return Row{double(length), costs::rounded(ns)};
}

const CostTable blocks_table{.key = "overlap_add_phases",
                             .columns = 2,
                             .points = {256, 1024, 4096, 16384, 65536},
                             .measure = measure};
const CostTable *const tables[] = {&blocks_table};

Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    if (!shape.two_sided && shape.channels > 1) return {.refused = "it serves one channel"};
    return cheapest_block(context, {.costs = blocks_table, .length_of = schedules::polyphase_length});
}

Status plan(KernelCall &call) { return plan_phases(call, "long_conv_overlap_add_phases"); }

} // namespace

extern const ir::Algorithm overlap_add_phases;
const ir::Algorithm overlap_add_phases =
    offline_algorithm("overlap_add_phases", devices::cpu_kernels, estimate, complete_blocks, plan, tables);

} // namespace longwave::compiler::convolution
