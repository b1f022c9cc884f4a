// linear_attention: causal attention without a softmax. Per head o_t = q_t·S_t with S_t = Σ_{τ ≤ t}
// k_τ v_τᵀ, a matrix of dk × dv (CHELA, Eq. 9 without its norm). The state of a stream is this
// matrix, with two floats per element, because it grows with every row.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/attention/chunks.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/attention.h"
#include <algorithm>

namespace longwave::ir {
namespace {

using attention::heads_of;

// S high and low, as its kernels lay it out: tiles of value lanes outermost, each [dk, lanes].
StreamRule stream(const Node &node, std::span<const Type> in) {
    const std::vector<uint32_t> dims{schedules::pad(in[2].dims[0]), in[0].dims[0] / heads_of(node)};
    return {.carries = {{"S high", Elem::f32, dims}, {"S low", Elem::f32, dims}}};
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t heads = heads_of(node), dk = in[0]->width / heads, dv = in[2]->width / heads;
    std::vector<double> s(heads * dk * dv, 0.0);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < dk; ++i)
                for (size_t c = 0; c < dv; ++c) {
                    double &element = s[(h * dk + i) * dv + c];
                    element += in[1]->row(t)[h * dk + i] * in[2]->row(t)[h * dv + c];
                    out.row(t)[h * dv + c] += in[0]->row(t)[h * dk + i] * element;
                }
}

// ---- two forms over one state ----

uint32_t width_of(const PlanContext &context, size_t input) {
    return context.type(input).dims[0] / heads_of(context.node);
}

// Figures of Sapphire Rapids, ns per output element and row of S (docs/kernels.md).
Estimate estimate_step(const PlanContext &context) { return {.cost = 0.23 * width_of(context, 0)}; }
Estimate estimate_chunks(const PlanContext &context) {
    return estimate_chunk(context, 0.06 * width_of(context, 0), 0.23 * width_of(context, 0));
}

// K: the contract of a step or of a chunk.
template <class K> void attend(KernelCall &call, const K &params) {
    call.kernel<K>(params, {.q = call.rows_of(0),
                            .k = call.rows_of(1),
                            .v = call.rows_of(2),
                            .S_high = call.state("S high"),
                            .S_low = call.state("S low"),
                            .o = call.result_rows()});
}

Status plan_steps(KernelCall &call) {
    call.ordered_tiles(1);
    attend(call, contract::LinearAttentionStep{.heads = heads_of(call.node),
                                               .dk = width_of(call.context, 0),
                                               .dv = width_of(call.context, 2)});
    return Status::ok();
}

Status plan_chunks(KernelCall &call) {
    const uint32_t rows = call.decisions().at("rows");
    if (rows == 1) return plan_steps(call);
    call.ordered_tiles(rows);
    attend(call, contract::LinearAttentionChunk{.heads = heads_of(call.node),
                                                .dk = width_of(call.context, 0),
                                                .dv = width_of(call.context, 2),
                                                .rows = rows});
    return Status::ok();
}

const Algorithm step{.name = "step",
                     .stream = devices::cpu_kernels,
                     .estimate = estimate_step,
                     .reach = reach_row,
                     .plan = plan_steps};
const Algorithm chunk{.name = "chunk",
                      .stream = devices::cpu_kernels,
                      .estimate = estimate_chunks,
                      .reach = reach_chunk,
                      .plan = plan_chunks};
const Algorithm scan{.name = "scan",
                     .offline = devices::gpu_kernels,
                     .stream = devices::gpu_kernels,
                     .estimate = estimate_scan,
                     .reach = reach_scan,
                     .plan = plan_chunks};
const Algorithm *const algorithms[] = {&step, &chunk, &scan};

} // namespace

const OpDef op_linear_attention{
    .name = "linear_attention",
    .attributes = {{"heads", AttributeDef::Kind::integer}},
    .infer = attention::infer,
    .stream = stream,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
