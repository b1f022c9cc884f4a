// decaying_attention: the causal core of LightNet (Eq. 7). Per head o_t = q_t·C_t with C_t = (1 −
// w_t) C_{t−1} + k_t v_tᵀ, a matrix of dk × dv. w_t is the result of cumulative_softmax. k is w
// itself, or a fourth input: w rotated by its position (lrpe), which is twice as wide and whose
// halves both decay as w.
#include "compiler/ops/attention/attention.h"
#include "compiler/ops/attention/matrix_state.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/attention.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    const bool rotated = in.size() == 4;
    LW_TRY(rules::count(in, rotated ? 4 : 3));
    LW_ASSIGN(const Type type, attention::of_heads(node, in));
    const uint32_t keys = in[1].dims[0] * (rotated ? 2 : 1);
    if (in[0].dims[0] == keys && (!rotated || in[3].dims[0] == keys)) return type;
    return Status::input(fmt::format("queries{} of width {} expected for weights of {}, found {}",
                                     rotated ? " and rotated weights" : "", keys, in[1].dims[0],
                                     in[0].dims[0] != keys ? in[0].dims[0] : in[3].dims[0]));
}

MatrixState state(const Node &node, std::span<const Type> in) {
    return two_floats_a_head(attention::heads_of(node), in, "C high", "C low");
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const MatrixState s = state(node, context.types);
    const OfHeads weight(*in[1], s.heads);
    const size_t weights = in[1]->width / s.heads;
    recurrence(
        s, *in[0], *in[in.size() == 4 ? 3 : 1], *in[2],
        [&](size_t t, size_t h, size_t i) { return 1 - weight(t, h)[i % weights]; }, out);
}

int parts_of(const KernelCall &call) { return call.node.inputs.size() == 4 ? 2 : 1; }

// K: the contract of a step or of a chunk.
template <class K> void attend(KernelCall &call, const K &params) {
    call.kernel<K>(params, {.q = call.rows_of(0),
                            .w = call.rows_of(1),
                            .v = call.rows_of(2),
                            .k = params.parts > 1 ? Given::Input(call.rows_of(3)) : Given::Input(),
                            .S_high = call.state("C high"),
                            .S_low = call.state("C low"),
                            .o = call.result_rows()});
}

constexpr MatrixOp matrix{
    .state = state,
    .pass = 0.25,
    .of_chunk = 0.1,
    .one_row =
        [](KernelCall &call, const MatrixState &s) {
            const int parts = parts_of(call);
            attend(call, contract::DecayingAttentionStep{
                             .heads = s.heads, .dk = s.keys / parts, .dv = s.values, .parts = parts});
        },
    .several_rows =
        [](KernelCall &call, const MatrixState &s, uint32_t rows) {
            const int parts = parts_of(call);
            attend(call,
                   contract::DecayingAttentionChunk{
                       .heads = s.heads, .dk = s.keys / parts, .dv = s.values, .rows = rows, .parts = parts});
        }};
using Forms = MatrixForms<matrix>;
const Algorithm *const algorithms[] = {&Forms::step, &Forms::chunk, &Forms::scan};

} // namespace

const OpDef op_decaying_attention{
    .name = "decaying_attention",
    .attributes = {{"heads", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = Forms::stream,
    .no_epilogue = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
