// linear_attention: causal attention without a softmax. Per head o_t = q_t·S_t with S_t = Σ_{τ ≤ t}
// k_τ v_τᵀ, a matrix of dk × dv (CHELA, Eq. 9 without its norm). It grows with every row.
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/attention/matrix_state.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/attention.h"

namespace longwave::ir {
namespace {

MatrixState state(const Node &node, std::span<const Type> in) {
    return two_floats_a_head(attention::heads_of(node), in, "S high", "S low");
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    recurrence(
        state(node, context.types), *in[0], *in[1], *in[2], [](size_t, size_t, size_t) { return 1.0; }, out);
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

constexpr MatrixOp matrix{
    .state = state,
    .pass = 0.23,
    .of_chunk = 0.06,
    .one_row =
        [](KernelCall &call, const MatrixState &s) {
            attend(call, contract::LinearAttentionStep{.heads = s.heads, .dk = s.keys, .dv = s.values});
        },
    .several_rows =
        [](KernelCall &call, const MatrixState &s, uint32_t rows) {
            attend(call, contract::LinearAttentionChunk{
                             .heads = s.heads, .dk = s.keys, .dv = s.values, .rows = rows});
        }};
using Forms = MatrixForms<matrix>;
const Algorithm *const algorithms[] = {&Forms::step, &Forms::chunk, &Forms::scan};

} // namespace

const OpDef op_linear_attention{
    .name = "linear_attention",
    .attributes = {{"heads", AttributeDef::Kind::integer}},
    .infer = attention::infer,
    .stream = Forms::stream,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
