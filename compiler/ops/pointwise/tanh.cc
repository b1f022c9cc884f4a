// tanh: (e^x − e^−x) / (e^x + e^−x).
#include "compiler/ops/support/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = std::tanh(in[0]->data[i]);
}

} // namespace

const OpDef op_tanh{
    .name = "tanh",
    .attributes = {},
    .infer = infer_same,
    .stream = row_by_row,
    .pointwise = Pointwise::unary,
    .reference = reference,
};

} // namespace longwave::ir
