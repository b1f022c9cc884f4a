// softmax over a row. The largest value is subtracted first, so no exponential overflows.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/norms.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {
namespace {

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) {
        const double *x = in[0]->row(t);
        const double top = *std::max_element(x, x + out.width);
        double sum = 0;
        for (size_t i = 0; i < out.width; ++i) sum += out.row(t)[i] = std::exp(x[i] - top);
        for (size_t i = 0; i < out.width; ++i) out.row(t)[i] /= sum;
    }
}

Status kernel(KernelCall &call) {
    LW_TRY(rules::plain_channels(call));
    call.kernel<contract::Softmax>({.channels = call.type(0).width(), .rows = call.rows()},
                                   {.x = call.rows_of(0), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_softmax{
    .name = "softmax",
    .attributes = {},
    .infer = infer_same,
    .stream = row_by_row,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
