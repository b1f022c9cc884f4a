// repeat: a value without a time axis in every row of a sequence: y[t] = value for each row t of x,
// of which nothing but the number of rows counts.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/selection.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::real(in[1]));
    if (!in[1].clock.timeless())
        return Status::input("expected a value without a time axis to repeat, found a sequence");
    Type type = in[1];
    type.clock = in[0].clock;
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) {
    return looks_ahead("the value is known at the end of the sequence");
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) std::copy_n(in[1]->row(0), out.width, out.row(t));
}

Status kernel(KernelCall &call) {
    call.kernel<contract::Repeat>({.row = call.type(1).row(), .rows = call.rows()},
                                  {.x = call.all_rows_of(1), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_repeat{
    .name = "repeat",
    .attributes = {},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
