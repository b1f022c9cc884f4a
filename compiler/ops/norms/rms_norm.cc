// rms_norm: x / √(mean x² + eps) · weight, with the mean over the row, or over each of `groups`
// equal parts of the row.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/norms/norm_groups.h"
#include "compiler/ops/support/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    return rules::infer_norm(node, in, {"weight"});
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const size_t n = out.width / *rules::norm_groups(node, context.types[0]);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t first = 0; first < out.width; first += n) {
            const double *x = in[0]->row(t) + first;
            double square = 0;
            for (size_t i = 0; i < n; ++i) square += x[i] * x[i] / static_cast<double>(n);
            for (size_t i = 0; i < n; ++i)
                out.row(t)[first + i] =
                    x[i] / std::sqrt(square + node.number("eps")) * in[1]->data[first + i];
        }
}

Status kernel(KernelCall &call) { return rules::norm_kernel(call, "rms"); }

} // namespace

const OpDef op_rms_norm{
    .name = "rms_norm",
    .attributes = {{"eps", AttributeDef::Kind::number}, {"groups", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
