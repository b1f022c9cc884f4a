// relu: max(x, 0).
#include "compiler/ops/support/rules.h"

namespace longwave::ir {
namespace {

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i) {
        const double x = in[0]->data[i];
        out.data[i] = x > 0 ? x : 0;
    }
}

} // namespace

const OpDef op_relu{
    .name = "relu",
    .attributes = {},
    .infer = infer_same,
    .stream = row_by_row,
    .pointwise = Pointwise::unary,
    .reference = reference,
};

} // namespace longwave::ir
