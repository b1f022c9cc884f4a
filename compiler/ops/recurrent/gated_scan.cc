// gated_scan: h_t = a_t h_{t−1} + b_t per element, with factors that are rows: minGRU, RG-LRU, SRU, HGRN. A
// factor that is a constant is exponential_scan, which adds up in float64. With `maximum` it is the same in
// logarithms, of a maximum instead of a sum: h_t = max(h_{t−1} + a_t, b_t), by which mLSTM scales its state.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/dispatches.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/recurrent.h"
#include <cmath>

namespace longwave::ir {
namespace {

bool of_maximum(const Node &node) { return node.has("maximum") && node.integer("maximum") != 0; }

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    if (node.has("maximum")) LW_TRY(rules::flag(node, "maximum").status());
    for (const Type &type : in) {
        LW_TRY(rules::real(type));
        LW_TRY(rules::timed(type));
        LW_TRY(rules::rank(type, 1));
    }
    return rules::join(in[0], in[1]);
}

StreamRule stream(const Node &, std::span<const Type> in) {
    return {.carries = {{"h", Elem::f32, {schedules::pad(in[0].dims[0])}}}};
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t c = 0; c < out.width; ++c) {
        double h = 0;
        for (size_t t = 0; t < out.rows; ++t) {
            const double a = in[0]->row(t)[c], b = in[1]->row(t)[c];
            h = out.row(t)[c] = of_maximum(node) ? std::fmax(h + a, b) : a * h + b;
        }
    }
}

Status scan(KernelCall &call) {
    call.kernel<contract::GatedScan>(
        {.channels = call.type(0).dims[0], .rows = call.rows(), .maximum = of_maximum(call.node)},
        {.a = call.rows_of(0), .b = call.rows_of(1), .y = call.result_rows(), .h = call.state("h")});
    return Status::ok();
}

const Algorithm rows{.name = "rows",
                     .stream = devices::cpu_kernels,
                     .estimate = [](const PlanContext &) { return Estimate{.cost = 1}; },
                     .plan =
                         [](KernelCall &call) {
                             call.one_call();
                             return scan(call);
                         }};
const Algorithm dispatches{
    .name = "scan",
    .offline = devices::gpu_kernels,
    .stream = devices::gpu_kernels,
    .estimate = [](const PlanContext &context) { return estimate_dispatches(context, 1); },
    .reach = reach_rows,
    .plan =
        [](KernelCall &call) {
            call.ordered_tiles(call.decisions().at("rows"));
            return scan(call);
        }};
const Algorithm *const algorithms[] = {&rows, &dispatches};

} // namespace

const OpDef op_gated_scan{
    .name = "gated_scan",
    .attributes = {{"maximum", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
