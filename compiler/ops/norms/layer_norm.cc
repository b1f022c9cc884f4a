// layer_norm: (x − mean) / √(var + eps) · weight + bias, with mean and population variance over the
// row, or over each of `groups` equal parts of the row.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/norms/norm_groups.h"
#include "compiler/ops/support/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    return rules::infer_norm(node, in, {"weight", "bias"});
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const size_t width = out.width / *rules::norm_groups(node, context.types[0]);
    const auto n = static_cast<double>(width);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t first = 0; first < out.width; first += width) {
            const double *x = in[0]->row(t) + first;
            double mean = 0, var = 0;
            for (size_t i = 0; i < width; ++i) mean += x[i] / n;
            for (size_t i = 0; i < width; ++i) var += (x[i] - mean) * (x[i] - mean) / n;
            for (size_t i = 0; i < width; ++i)
                out.row(t)[first + i] =
                    (x[i] - mean) / std::sqrt(var + node.number("eps")) * in[1]->data[first + i] +
                    in[2]->data[first + i];
        }
}

Status kernel(KernelCall &call) { return rules::norm_kernel(call, "layer"); }

} // namespace

const OpDef op_layer_norm{
    .name = "layer_norm",
    .attributes = {{"eps", AttributeDef::Kind::number}, {"groups", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
