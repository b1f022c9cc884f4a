// row_product: in each row, `batches` products of two matrices [rows, inner] and [inner, columns],
// whose numbers lie one after the other in the rows of both inputs.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/linear.h"

namespace longwave::ir {
namespace {

struct Sizes {
    uint64_t batches, rows, inner, columns;
};

Sizes sizes_of(const Node &node) {
    const auto size = [&](const char *name) { return static_cast<uint64_t>(node.integer(name)); };
    return {size("batches"), size("rows"), size("inner"), size("columns")};
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    for (const char *name : {"batches", "rows", "inner", "columns"})
        LW_TRY(rules::integer(node, name, 1, 1 << 20).status());
    const Sizes s = sizes_of(node);
    LW_ASSIGN(const uint32_t left, rules::elements({s.batches, s.rows, s.inner}, "the first input"));
    LW_ASSIGN(const uint32_t right, rules::elements({s.batches, s.inner, s.columns}, "the second input"));
    LW_ASSIGN(const uint32_t made, rules::elements({s.batches, s.rows, s.columns}, "the result"));
    for (size_t i = 0; i < 2; ++i) {
        const std::vector<uint32_t> expected{i ? right : left};
        LW_TRY(rules::real(in[i]));
        if (in[i].dims != expected)
            return Status::input(
                fmt::format("expected rows of {}, found {}", rules::text(expected), rules::text(in[i].dims)));
    }
    Type second = in[1];
    second.dims = in[0].dims;
    LW_ASSIGN(Type type, rules::join(in[0], second));
    type.dims = {made};
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const Sizes s = sizes_of(node);
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t i = 0; i < out.width; ++i) {
            const size_t column = i % s.columns, row = i / s.columns, batch = row / s.rows;
            double sum = 0;
            for (size_t k = 0; k < s.inner; ++k)
                sum += in[0]->row(t)[row * s.inner + k] *
                       in[1]->row(t)[(batch * s.inner + k) * s.columns + column];
            out.row(t)[i] = sum;
        }
}

Status kernel(KernelCall &call) {
    const Sizes s = sizes_of(call.node);
    call.kernel<contract::RowProduct>(
        {.batches = s.batches, .left = s.rows, .inner = s.inner, .columns = s.columns, .rows = call.rows()},
        {.x = call.rows_of(0), .y = call.rows_of(1), .z = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_row_product{
    .name = "row_product",
    .attributes = {{"batches", AttributeDef::Kind::integer},
                   {"rows", AttributeDef::Kind::integer},
                   {"inner", AttributeDef::Kind::integer},
                   {"columns", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
