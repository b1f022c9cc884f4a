// sigmoid: 1 / (1 + e^−x).
#include "compiler/ops/support/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i) {
        const double x = in[0]->data[i];
        out.data[i] = 1 / (1 + std::exp(-x));
    }
}

} // namespace

const OpDef op_sigmoid{
    .name = "sigmoid",
    .attributes = {},
    .infer = infer_same,
    .stream = row_by_row,
    .pointwise = Pointwise::unary,
    .nonzero_at_zero = true,
    .reference = reference,
};

} // namespace longwave::ir
