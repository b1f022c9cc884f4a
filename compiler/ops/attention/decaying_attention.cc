// decaying_attention: the causal core of LightNet (Eq. 7). Per head o_t = q_t·C_t with C_t = (1 −
// w_t) C_{t−1} + k_t v_tᵀ, a matrix of dk × dv. w_t is the result of cumulative_softmax. k is w
// itself, or a fourth input: w rotated by its position (lrpe), which is twice as wide and whose
// halves both decay as w.
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/attention/chunks.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"

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

void arguments(KernelCall &call) {
    const size_t inputs = call.node.inputs.size();
    call.param("turns", int64_t{inputs == 4 ? 2 : 1});
    for (size_t input = 0; input < inputs; ++input) call.read_rows(input);
    call.carry("C high");
    call.carry("C low");
    call.write();
}

Status plan_steps(KernelCall &call) {
    plan_row(call, "decaying_attention_step", per_head(call.node, call.type(1)),
             per_head(call.node, call.type(2)));
    arguments(call);
    return Status::ok();
}

Status plan_chunks(KernelCall &call) {
    plan_chunk(call, "decaying_attention_chunk", per_head(call.node, call.type(1)),
               per_head(call.node, call.type(2)));
    arguments(call);
    return Status::ok();
}

Status plan_decaying_scan(KernelCall &call) {
    plan_scan(call, "decaying_attention_step", "decaying_attention_chunk", per_head(call.node, call.type(1)),
              per_head(call.node, call.type(2)));
    arguments(call);
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
                              .plan = plan_decaying_scan};
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
