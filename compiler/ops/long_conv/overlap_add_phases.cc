// overlap_add_phases: overlap_add for one channel. Vector lanes are the phases of a block, as in
// polyphase, so that no lane is idle.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

constexpr uint32_t longest = 1 << 18; // block

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

// Longer blocks cost more per row, and fewer of them fit the sequence well.
Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    if (shape.two_sided) return {.refused = "it is one-sided, and the convolution has two sides"};
    if (shape.channels > 1) return {.refused = "it serves one channel"};
    Estimate best{.refused =
                      "a block is at least as long as the taps, and the sequence does not exceed one block"};
    uint32_t length = schedules::polyphase_length(shape.taps);
    for (; length < context.rows && length <= longest; length = schedules::polyphase_length(length + 1)) {
        const double blocks = (context.rows + length - 1) / length;
        const double cost = context.costs->at(blocks_table, length) * blocks * length / context.rows;
        if (best.refused.empty() && best.cost <= cost) continue;
        best = {.cost = cost};
        best.decisions.put("taps", shape.taps);
        best.decisions.put("length", length);
    }
    return best;
}

// Rows behind the end are written up to the end of the last block.
Reach reach(const PlanContext &, const Decisions &decisions) { return {.multiple = decisions.at("length")}; }

Status plan(KernelCall &call) { return plan_phases(call, "long_conv_overlap_add_phases"); }

} // namespace

extern const ir::Algorithm overlap_add_phases;
const ir::Algorithm overlap_add_phases{.name = "overlap_add_phases",
                                       .stream = devices::no_kernels,
                                       .estimate = estimate,
                                       .reach = reach,
                                       .plan = plan,
                                       .costs = tables};

} // namespace longwave::compiler::convolution
