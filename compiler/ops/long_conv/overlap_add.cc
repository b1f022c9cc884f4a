// overlap_add: offline runs that are longer than the taps, in blocks. The transform of a block is
// as long as the block: y_q = Re z_q + Im z_(q − 1).
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

constexpr uint32_t shortest = 64, longest = 1 << 18; // blocks

// By the length of a block: sixteen blocks, forward and back.
Expected<Row> measure(const Meter &meter, uint32_t length) {
    const uint32_t rows = 16 * length;
    LW_ASSIGN(const double ns,
              meter.element("long_conv_overlap_add", {{"length", length}, {"rows", rows}}, rows));
    return Row{double(length), costs::rounded(ns)};
}

const CostTable overlap_table{.key = "overlap_add",
                              .columns = 2,
                              .points = {64, 256, 1024, 4096, 16384, 65536},
                              .measure = measure};
const CostTable *const tables[] = {&overlap_table};

// Longer blocks cost more per row, and fewer of them fit the sequence well.
Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    if (shape.two_sided) return {.refused = "it is one-sided, and the convolution has two sides"};
    Estimate best{.refused = "a block is at least as long as the taps, and the sequence does not exceed one block"};
    uint32_t length = schedules::right_angle_length(std::max(shape.taps, shortest));
    for (; length < context.rows && length <= longest; length = schedules::right_angle_length(length + 1)) {
        const double blocks = (context.rows + length - 1) / length;
        const double cost =
            idle_lanes(context) * context.costs->at(overlap_table, length) * blocks * length / context.rows;
        if (best.refused.empty() && best.cost <= cost) continue;
        best = {.cost = cost};
        best.decisions.put("taps", shape.taps);
        best.decisions.put("length", length);
    }
    return best;
}

// Rows behind the end are written up to the end of the last block.
Reach reach(const PlanContext &, const Decisions &decisions) { return {.multiple = decisions.at("length")}; }

Status plan(KernelCall &call) { return plan_transform(call, "long_conv_overlap_add"); }

} // namespace

extern const ir::Algorithm overlap_add;
const ir::Algorithm overlap_add{.name = "overlap_add",
                                .stream = devices::no_kernels,
                                .estimate = estimate,
                                .reach = reach,
                                .plan = plan,
                                .costs = tables};

} // namespace longwave::compiler::convolution
