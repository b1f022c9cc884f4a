// reorder_rows: the rows as they are, y[t] = x[t]. On a GPU one of both lies row by row, and the other
// channel by channel. reorder_values adds it; packages cannot name it.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/selection/selection.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/pointwise.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    return in[0];
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) std::copy_n(in[0]->row(t), out.width, out.row(t));
}

// A chain of no ops. Padding is copied as well, so channels count as far as rows reach.
Status kernel(KernelCall &call) {
    call.kernel<contract::Pointwise>({.width = call.type(0).row(), .rows = call.rows()},
                                     {.x = call.rows_of(0), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

Expected<ValueId> make_reordered(Builder &to, ValueId x, const std::string &layer) {
    return to.node(op_reorder_rows.name, {x}, {}, layer);
}

const OpDef op_reorder_rows{
    .name = "reorder_rows",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .of_passes = true,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
