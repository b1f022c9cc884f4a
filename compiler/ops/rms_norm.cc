// rms_norm: x / √(mean x² + eps) · weight.
#include "compiler/ops/kernel_call.h"
#include "compiler/ops/rules.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    if (node.number("eps") < 0)
        return Status::input(fmt::format("attribute eps expected 0 or more, found {}", node.number("eps")));
    LW_TRY(rules::vector(in[1], "weight", in[0].width()));
    return in[0];
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) {
        const double *x = in[0]->row(t);
        double square = 0;
        for (size_t i = 0; i < out.width; ++i) square += x[i] * x[i] / static_cast<double>(out.width);
        for (size_t i = 0; i < out.width; ++i)
            out.row(t)[i] = x[i] / std::sqrt(square + node.number("eps")) * in[1]->data[i];
    }
}

Status kernel(KernelCall &call) { return rules::norm_kernel(call, "rms"); }

} // namespace

const OpDef op_rms_norm{
    .name = "rms_norm",
    .attributes = {{"eps", AttributeDef::Kind::number}},
    .infer = infer,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
