// gelu: x · Φ(x), the exact erf form.
#include "compiler/ops/support/rules.h"
#include <cmath>
#include <numbers>

namespace longwave::ir {
namespace {

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i) {
        const double x = in[0]->data[i];
        out.data[i] = 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2);
    }
}

} // namespace

const OpDef op_gelu{
    .name = "gelu",
    .attributes = {},
    .infer = infer_same,
    .stream = row_by_row,
    .pointwise = Pointwise::unary,
    .reference = reference,
};

} // namespace longwave::ir
