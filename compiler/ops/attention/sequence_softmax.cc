// sequence_softmax: e^{k_t} / Σ_τ e^{k_τ} over all rows of a sequence, for each channel (LightNet,
// Eq. 8).
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/attention.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    Type type = in[0];
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) {
    return looks_ahead("its keys are normalised over the whole sequence (a softmax over time)");
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.width; ++i) {
        double top = -INFINITY, sum = 0;
        for (size_t t = 0; t < out.rows; ++t) top = std::max(top, in[0]->row(t)[i]);
        for (size_t t = 0; t < out.rows; ++t) sum += std::exp(in[0]->row(t)[i] - top);
        for (size_t t = 0; t < out.rows; ++t) out.row(t)[i] = std::exp(in[0]->row(t)[i] - top) / sum;
    }
}

Status kernel(KernelCall &call) {
    call.one_call();
    call.kernel<contract::SequenceSoftmax>(
        {.channels = call.type(0).width(), .rows = call.rows()},
        {.k = call.rows_of(0), .length = call.length_of(0), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_sequence_softmax{
    .name = "sequence_softmax",
    .attributes = {},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
