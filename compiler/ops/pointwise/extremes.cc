// maximum, minimum: the larger or the smaller of two values, row by row.
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    return rules::join(in[0], in[1]);
}

void largest(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i)
        out.data[i] = std::max<double>(in[0]->data[i], in[1]->data[i]);
}

void smallest(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i)
        out.data[i] = std::min<double>(in[0]->data[i], in[1]->data[i]);
}

} // namespace

const OpDef op_maximum{
    .name = "maximum",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .pointwise = Pointwise::with_rows,
    .reference = largest,
};

const OpDef op_minimum{
    .name = "minimum",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .pointwise = Pointwise::with_rows,
    .reference = smallest,
};

} // namespace longwave::ir
