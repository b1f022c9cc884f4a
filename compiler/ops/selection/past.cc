// past: the rows of x, behind others that stand before the first one in place of zeros. An op that
// reads older rows finds them there, offline and at the start of a stream.
#include "compiler/ops/support/initial.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::operand(in[1], "rows", {0, in[0].width()}));
    if (in[0].delay > 0)
        return Status::input(fmt::format("its rows come {} input ticks late, and rows before the first have no place then", in[0].delay));
    return in[0];
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) std::copy_n(in[0]->row(t), out.width, out.row(t));
}

Status kernel(KernelCall &call) {
    LW_TRY(initial_on_host(call));
    call.kernel("pointwise");
    call.param("width", call.type(0).row());
    call.param("channels", call.type(0).dims.back() == 1 ? call.type(0).width() : call.type(0).dims.back());
    call.param("rows", call.rows());
    call.read_rows(0);
    call.write();
    return Status::ok();
}

} // namespace

const OpDef op_past{
    .name = "past",
    .infer = infer,
    .stream = row_by_row,
    .past = 1,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
