// transposed_layer_norm: the norm of SGConv with two scalars, (s / std)(x − mean + m), with the
// population std over the row. The published form has no eps. The lower bound on std keeps a row of
// equal values finite.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::vector(in[1], "m", 1));
    LW_TRY(rules::vector(in[2], "s", 1));
    return in[0];
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto n = static_cast<double>(out.width);
    for (size_t t = 0; t < out.rows; ++t) {
        const double *x = in[0]->row(t);
        double mean = 0, var = 0;
        for (size_t i = 0; i < out.width; ++i) mean += x[i] / n;
        for (size_t i = 0; i < out.width; ++i) var += (x[i] - mean) * (x[i] - mean) / n;
        const double std = std::max(std::sqrt(var), 1e-30);
        for (size_t i = 0; i < out.width; ++i)
            out.row(t)[i] = in[2]->data[0] / std * (x[i] - mean + in[1]->data[0]);
    }
}

Status kernel(KernelCall &call) { return rules::norm_kernel(call, "transposed"); }

} // namespace

const OpDef op_transposed_layer_norm{
    .name = "transposed_layer_norm",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
