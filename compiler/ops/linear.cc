// linear: weight times the features of a row, plus a bias. Features are counted logically: (frequency, channel) at f·C + c.
#include "compiler/ops/rules.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t bias, rules::flag(node, "bias"));
    LW_TRY(rules::count(in, 2 + bias));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::operand(in[1], "weight", {0, in[0].width()}));
    const uint32_t features = in[1].dims[0];
    if (bias) LW_TRY(rules::operand(in[2], "bias", {features}));
    Type type = in[0];
    type.dims = {features};
    return type;
}

void reference(const Node &node, std::span<const Array *const> in, const ReferenceContext &, Array &out) {
    const Array &x = *in[0];
    const bool bias = node.integer("bias") != 0;
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t o = 0; o < out.width; ++o) {
            double sum = bias ? in[2]->data[o] : 0.0;
            for (size_t i = 0; i < x.width; ++i) sum += in[1]->data[o * x.width + i] * x.row(t)[i];
            out.row(t)[o] = sum;
        }
}

} // namespace

const OpDef op_linear{
    .name = "linear",
    .attributes = {{"bias", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .reference = reference,
};

} // namespace longwave::ir
