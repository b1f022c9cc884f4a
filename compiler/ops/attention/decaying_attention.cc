// decaying_attention: the causal core of LightNet (Eq. 7). Per head o_t = q_t·C_t with C_t = (1 −
// w_t) C_{t−1} + k_t v_tᵀ, a matrix of dk × dv. w_t is the result of cumulative_softmax. k is w
// itself, or a fourth input: w rotated by its position (lrpe), which is twice as wide and whose
// halves both decay as w.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/attention/chunks.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/attention.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    const bool turned = in.size() == 4;
    LW_TRY(rules::count(in, turned ? 4 : 3));
    LW_ASSIGN(const Type type, attention::of_heads(node, in));
    const uint32_t keys = in[1].dims[0] * (turned ? 2 : 1);
    if (in[0].dims[0] == keys && (!turned || in[3].dims[0] == keys)) return type;
    return Status::input(fmt::format("queries{} of width {} expected for weights of {}, found {}",
                                     turned ? " and turned weights" : "", keys, in[1].dims[0],
                                     in[0].dims[0] != keys ? in[0].dims[0] : in[3].dims[0]));
}

uint32_t per_head(const Node &node, const Type &type) { return type.dims[0] / attention::heads_of(node); }

// C high and low, as its kernels lay it out: tiles of value lanes outermost, each [rows of C,
// lanes].
StreamRule stream(const Node &node, std::span<const Type> in) {
    const std::vector<uint32_t> dims{schedules::pad(in[2].dims[0]), per_head(node, in[0])};
    return {.carries = {{"C high", Elem::f32, dims}, {"C low", Elem::f32, dims}}};
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t heads = attention::heads_of(node), rows = in[0]->width / heads, dk = in[1]->width / heads,
                 dv = in[2]->width / heads;
    const Operand &keys = *in[in.size() == 4 ? 3 : 1];
    std::vector<double> state(heads * rows * dv, 0.0);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < rows; ++i)
                for (size_t c = 0; c < dv; ++c) {
                    double &element = state[(h * rows + i) * dv + c];
                    element = (1 - in[1]->row(t)[h * dk + i % dk]) * element +
                              keys.row(t)[h * rows + i] * in[2]->row(t)[h * dv + c];
                    out.row(t)[h * dv + c] += in[0]->row(t)[h * rows + i] * element;
                }
}

// ---- two forms over one state ----

// Figures of Sapphire Rapids, ns per output element and row of C (docs/kernels.md).
Estimate estimate_step(const PlanContext &context) {
    return {.cost = 0.25 * per_head(context.node, context.type(0))};
}
Estimate estimate_chunks(const PlanContext &context) {
    const uint32_t rows = per_head(context.node, context.type(0));
    return estimate_chunk(context, 0.1 * rows, 0.25 * rows);
}

int turns_of(const Node &node) { return node.inputs.size() == 4 ? 2 : 1; }

// K: the contract of a step or of a chunk.
template <class K> void attend(KernelCall &call, const K &params) {
    call.kernel<K>(params, {.q = call.rows_of(0),
                            .w = call.rows_of(1),
                            .v = call.rows_of(2),
                            .k = params.turns > 1 ? Given::Input(call.rows_of(3)) : Given::Input(),
                            .S_high = call.state("C high"),
                            .S_low = call.state("C low"),
                            .o = call.result_rows()});
}

Status plan_steps(KernelCall &call) {
    call.ordered_tiles(1);
    attend(call, contract::DecayingAttentionStep{.heads = attention::heads_of(call.node),
                                                 .dk = per_head(call.node, call.type(1)),
                                                 .dv = per_head(call.node, call.type(2)),
                                                 .turns = turns_of(call.node)});
    return Status::ok();
}

Status plan_chunks(KernelCall &call) {
    const uint32_t rows = call.decisions().at("rows");
    if (rows == 1) return plan_steps(call);
    call.ordered_tiles(rows);
    attend(call, contract::DecayingAttentionChunk{.heads = attention::heads_of(call.node),
                                                  .dk = per_head(call.node, call.type(1)),
                                                  .dv = per_head(call.node, call.type(2)),
                                                  .rows = rows,
                                                  .turns = turns_of(call.node)});
    return Status::ok();
}

const Algorithm decaying_step{.name = "step",
                              .stream = devices::cpu_kernels,
                              .estimate = estimate_step,
                              .reach = reach_row,
                              .plan = plan_steps};
const Algorithm decaying_chunk{.name = "chunk",
                               .stream = devices::cpu_kernels,
                               .estimate = estimate_chunks,
                               .reach = reach_chunk,
                               .plan = plan_chunks};
const Algorithm decaying_scan{.name = "scan",
                              .offline = devices::gpu_kernels,
                              .stream = devices::gpu_kernels,
                              .estimate = estimate_scan,
                              .reach = reach_scan,
                              .plan = plan_chunks};
const Algorithm *const algorithms[] = {&decaying_step, &decaying_chunk, &decaying_scan};

} // namespace

const OpDef op_decaying_attention{
    .name = "decaying_attention",
    .attributes = {{"heads", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
