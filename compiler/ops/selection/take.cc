// take: elements of a row in another order, once, several times or not at all:
//     y[i] = x[index[i]], 0 where the index is −1
// Elements of x are counted without padding, the slowest dim first. So take also repeats the one
// value of a row over many features, and changes the dims of a row: with `bands` F > 1 the result
// is {F, n / F}.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/selection.h"
#include <cmath>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::operand(in[1], "index", {0}));
    const uint32_t n = in[1].dims[0];
    LW_ASSIGN(const uint32_t bands, rules::integer(node, "bands", 1, n));
    if (n % bands) return Status::input(fmt::format("{} elements do not divide into {} bands", n, bands));
    Type type = in[0];
    type.dims = bands == 1 ? std::vector{n} : std::vector{bands, n / bands};
    return type;
}

// Of a row of `width` elements; −2 for what is not an index.
int64_t index_of(double value, size_t width) {
    return value >= -1 && value < static_cast<double>(width) && value == std::floor(value)
               ? static_cast<int64_t>(value)
               : -2;
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.width; ++i) {
        const int64_t index = index_of(in[1]->data[i], in[0]->width);
        for (size_t t = 0; index >= 0 && t < out.rows; ++t) out.row(t)[i] = in[0]->row(t)[index];
    }
}

// Physical places in a row of x for all lanes of a row of the result; −1: zero.
Expected<std::vector<int32_t>> lanes_of(const Type &x, const Type &y, const Numbers &index) {
    std::vector<int32_t> lanes(y.row(), -1);
    for (uint32_t i = 0; i < y.width(); ++i) {
        const int64_t at = index_of(index[i], x.width());
        if (at == -2)
            return Status::input(
                fmt::format("index {} expected -1 to {}, found {}", i, x.width() - 1, index[i]));
        if (at >= 0) lanes[y.physical(i)] = static_cast<int32_t>(x.physical(static_cast<uint32_t>(at)));
    }
    return lanes;
}

Status kernel(KernelCall &call) {
    const Type &x = call.type(0), &y = call.result();
    LW_ASSIGN(const std::vector<int32_t> lanes, lanes_of(x, y, call.constant(1)));
    call.kernel<contract::Take>({.in_row = x.row(), .row = y.row(), .rows = call.rows()},
                                {.x = call.rows_of(0),
                                 .index = call.packed("index", Packed::of(Elem::i32, {y.row()}, lanes)),
                                 .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_take{
    .name = "take",
    .attributes = {{"bands", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
