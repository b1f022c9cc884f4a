// concat: rows of several values beside each other, {n_0}, {n_1}, … -> {n_0 + n_1 + …}.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/selection.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr size_t most_parts = 16;

Expected<Type> infer(const Node &, std::span<const Type> in) {
    if (in.size() < 2 || in.size() > most_parts)
        return Status::input(fmt::format("expects 2 to {} inputs, found {}", most_parts, in.size()));
    Type type = in[0];
    uint64_t width = 0;
    for (const Type &part : in) {
        LW_TRY(rules::real(part));
        LW_TRY(rules::rank(part, 1));
        Type first = in[0];
        first.dims = part.dims; // all but the dims must fit
        LW_ASSIGN(const Type joined, rules::join(first, part));
        type.causal = type.causal && joined.causal;
        width += part.dims[0];
    }
    LW_ASSIGN(const uint32_t all, rules::elements({width}, "the joined row"));
    type.dims = {all};
    return type;
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) {
        double *y = out.row(t);
        for (const Operand *part : in) y = std::copy_n(part->row(t), part->width, y);
    }
}

Status kernel(KernelCall &call) {
    std::vector<int64_t> parts;
    Given::Inputs rows;
    for (size_t i = 0; i < call.node.inputs.size(); ++i) {
        if (call.graph().constant(call.node.inputs[i]))
            return Status::input("concat joins rows: a constant belongs into the bias of an op before it");
        parts.push_back(call.type(i).width());
        rows.emplace_back(call.rows_of(i));
    }
    call.kernel<contract::Concat>({.parts = std::move(parts), .rows = call.rows()},
                                  {.part = std::move(rows), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_concat{
    .name = "concat",
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
