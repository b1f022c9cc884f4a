// right_angle: offline runs by one complex transform of the length of the sequence, one- or
// two-sided (Crandall and Fagin 1994).
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/twiddles.h"

namespace longwave::compiler::convolution {
namespace {

// By length: one forward and one inverse transform.
Expected<Row> measure(const Meter &meter, uint32_t length) {
    LW_ASSIGN(const double ns,
              meter.element("long_conv_right_angle", {{"length", length}, {"rows", length}}, length));
    return Row{double(length), costs::rounded(ns)};
}

const CostTable *const tables[] = {&transform_table};

Estimate estimate(const PlanContext &context) {
    const uint32_t length = schedules::right_angle_length(context.rows);
    Estimate estimate{.cost = idle_lanes(context) * context.costs->at(transform_table, length) * length /
                              context.rows};
    estimate.decisions.put("taps", Shape(context).taps);
    estimate.decisions.put("length", length);
    return estimate;
}

Status plan(KernelCall &call) { return plan_transform<contract::LongConvRightAngle>(call); }

} // namespace

const CostTable transform_table{.key = "transform",
                                .columns = 2,
                                .points = {4, 16, 64, 160, 256, 1024, 4096, 16384, 65536, 262144, 1048576},
                                .measure = measure};

extern const ir::Algorithm right_angle;
const ir::Algorithm right_angle =
    offline_algorithm("right_angle", devices::cpu_kernels, estimate, no_demands, plan, tables);

} // namespace longwave::compiler::convolution
