// where: of two values the one that a condition chooses, element by element. The condition is a value
// too: above 0 it chooses the first.
#include "compiler/ops/support/rules.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_ASSIGN(const Type type, rules::join(in[0], in[1]));
    return rules::join(type, in[2]);
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i)
        out.data[i] = in[0]->data[i] > 0 ? in[1]->data[i] : in[2]->data[i];
}

} // namespace

const OpDef op_where{
    .name = "where",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .pointwise = Pointwise::behind_first,
    .reference = reference,
};

} // namespace longwave::ir
