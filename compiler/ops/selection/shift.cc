// shift: rows later, y[t] = x[t − rows], zeros before the first.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/selection/selection.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/selection.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr uint32_t longest = 1 << 20;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::integer(node, "rows", 0, longest).status());
    return in[0];
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto by = static_cast<size_t>(node.integer("rows"));
    for (size_t t = by; t < out.rows; ++t) std::copy_n(in[0]->row(t - by), out.width, out.row(t));
}

} // namespace

StreamRule keep_shifted_rows(const Node &node, std::span<const Type>) {
    return history(static_cast<uint32_t>(node.integer("rows")));
}

Status shift_kernel(KernelCall &call) {
    call.one_call();
    const Ring x = call.ring_of(0);
    call.kernel<contract::Shift>(
        {.row = call.type(0).row(), .rows = call.rows(), .by = call.node.integer("rows"), .ring = x.rows},
        {.x = x.place, .position = x.position, .y = call.result_rows()});
    return Status::ok();
}

const OpDef op_shift{
    .name = "shift",
    .attributes = {{"rows", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = keep_shifted_rows,
    .begins_late = true,
    .no_epilogue = true,
    .kernel = shift_kernel,
    .reference = reference,
};

} // namespace longwave::ir
