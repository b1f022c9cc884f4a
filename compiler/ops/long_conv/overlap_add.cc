// overlap_add: offline runs that are longer than the taps, in blocks. The transform of a block is
// as long as the block: y_q = Re z_q + Im z_(q − 1).
#include "compiler/ops/long_conv/overlap_add.h"
#include "formats/artifact/rules.h"
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

constexpr uint32_t shortest = 64; // block

// By the length of a block: sixteen blocks, forward and back.
Expected<Row> measure(const Meter &meter, uint32_t length) {
    const uint32_t rows = 16 * length;
    LW_ASSIGN(const double ns,
              meter.element("long_conv_overlap_add", {{"length", length}, {"rows", rows}}, rows));
    return Row{double(length), costs::rounded(ns)};
}

const CostTable overlap_table{
    .key = "overlap_add", .columns = 2, .points = {64, 256, 1024, 4096, 16384, 65536}, .measure = measure};
const CostTable *const tables[] = {&overlap_table};

Estimate estimate(const PlanContext &context) {
    return cheapest_block(context, {.costs = overlap_table,
                                    .length_of = schedules::right_angle_length,
                                    .shortest = shortest,
                                    .idle = idle_lanes(context)});
}

Status plan(KernelCall &call) { return plan_transform<contract::LongConvOverlapAdd>(call); }

} // namespace

// Longer blocks cost more per row, and fewer of them fit the sequence well.
Estimate cheapest_block(const PlanContext &context, const BlockChoice &choice) {
    constexpr uint32_t longest = 1 << 18;
    const Shape shape(context);
    if (shape.two_sided) return {.refused = "it is one-sided, and the convolution has two sides"};
    Estimate best{.refused =
                      "a block is at least as long as the taps, and the sequence does not exceed one block"};
    uint32_t length = choice.length_of(std::max(shape.taps, choice.shortest));
    for (; length < context.rows && length <= longest; length = choice.length_of(length + 1)) {
        const uint32_t blocks = (context.rows + length - 1) / length;
        if (uint64_t{blocks} * length > artifact::cap::extent) continue; // its buffers hold whole blocks
        const double cost = choice.idle * context.costs->at(choice.costs, length, choice.column) * blocks *
                            length / context.rows;
        if (best.refused.empty() && best.cost <= cost) continue;
        best = {.cost = cost};
        best.decisions.put("taps", shape.taps);
        best.decisions.put("length", length);
    }
    return best;
}

extern const ir::Algorithm overlap_add;
const ir::Algorithm overlap_add =
    offline_algorithm("overlap_add", devices::cpu_kernels, estimate, complete_blocks, plan, tables);

} // namespace longwave::compiler::convolution
