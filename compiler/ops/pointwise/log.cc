// log: log(x + offset).
#include "compiler/ops/support/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i)
        out.data[i] = std::log(in[0]->data[i] + node.number("offset"));
}

} // namespace

const OpDef op_log{
    .name = "log",
    .attributes = {{"offset", AttributeDef::Kind::number}},
    .infer = infer_same,
    .stream = row_by_row,
    .pointwise = Pointwise::unary,
    .nonzero_at_zero = true,
    .reference = reference,
};

} // namespace longwave::ir
