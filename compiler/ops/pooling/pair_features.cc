// pair_features: the features of two pooled documents for retrieval: [u, v, u − v, u·v].
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/pooling.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    if (!in[0].clock.timeless())
        return Status::input("expected two pooled sequences, found one with a time axis");
    LW_ASSIGN(Type type, rules::join(in[0], in[1]));
    LW_TRY(rules::elements({4, in[0].dims[0]}, "the result").status());
    type.dims = {4, in[0].dims[0]}; // four groups of H channels
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) {
    return looks_ahead("it compares two whole sequences");
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const size_t h = in[0]->width;
    for (size_t i = 0; i < h; ++i) {
        const double u = in[0]->data[i], v = in[1]->data[i];
        out.data[i] = u;
        out.data[h + i] = v;
        out.data[2 * h + i] = u - v;
        out.data[3 * h + i] = u * v;
    }
}

Status kernel(KernelCall &call) {
    LW_TRY(rules::plain_channels(call));
    call.kernel<contract::PairFeatures>(
        {.channels = call.type(0).width()},
        {.u = call.rows_of(0), .v = call.rows_of(1), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_pair_features{
    .name = "pair_features",
    .attributes = {},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
