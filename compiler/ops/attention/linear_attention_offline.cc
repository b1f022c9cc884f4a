// linear_attention_offline: attention without a softmax in which every row reads the full sequence.
// Per head o_t = q_t·S with S = Σ_τ k_τ v_τᵀ over all rows (CHELA, Eq. 9 without its norm,
// two-sided).
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/attention.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(Type type, attention::infer(node, in));
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) {
    return looks_ahead("its attention is two-sided (every row reads a sum over the whole sequence)");
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t heads = attention::heads_of(node), dk = in[0]->width / heads, dv = in[2]->width / heads;
    std::vector<double> s(heads * dk * dv, 0.0);
    const auto each = [&](const auto &visit) {
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < dk; ++i)
                for (size_t c = 0; c < dv; ++c) visit(h * dk + i, h * dv + c, s[(h * dk + i) * dv + c]);
    };
    for (size_t t = 0; t < out.rows; ++t)
        each([&](size_t i, size_t c, double &sum) { sum += in[1]->row(t)[i] * in[2]->row(t)[c]; });
    for (size_t t = 0; t < out.rows; ++t)
        each([&](size_t i, size_t c, double sum) { out.row(t)[c] += in[0]->row(t)[i] * sum; });
}

Status kernel(KernelCall &call) {
    const uint32_t heads = attention::heads_of(call.node);
    call.one_call();
    call.kernel<contract::LinearAttentionOffline>({.heads = heads,
                                                   .dk = call.type(0).dims[0] / heads,
                                                   .dv = call.type(2).dims[0] / heads,
                                                   .rows = call.rows()},
                                                  {.q = call.all_rows_of(0),
                                                   .k = call.all_rows_of(1),
                                                   .v = call.all_rows_of(2),
                                                   .length = call.length_of(0),
                                                   .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_linear_attention_offline{
    .name = "linear_attention_offline",
    .attributes = {{"heads", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
