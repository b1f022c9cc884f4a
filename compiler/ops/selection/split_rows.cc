// split_rows: each row as `parts` rows one after the other, y[t·parts + s] = part s of x[t]. The rows of a
// transposed convolution and of a pixel shuffle along time are the parts of the rows of a convolution. Bands
// are dealt out whole: {F, C} becomes {F / parts, C}.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/selection.h"
#include <algorithm>
#include <numeric>

namespace longwave::ir {
namespace {

constexpr uint32_t most_parts = 1 << 16;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_ASSIGN(const uint32_t parts, rules::integer(node, "parts", 1, most_parts));
    Type type = in[0];
    if (type.dims.empty() || type.dims.size() > 2 || type.dims[0] % parts)
        return Status::input(
            fmt::format("expected rows that divide into {} parts, found {}", parts, rules::text(type.dims)));
    type.dims[0] /= parts;
    if (type.dims.size() == 2 && type.dims[0] == 1) type.dims.erase(type.dims.begin());
    LW_ASSIGN(type.clock, rules::faster(in[0].clock, parts));
    // All parts of a row come when the row does.
    if (parts > 1) type.whole = std::lcm(type.whole, in[0].clock.den);
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto parts = static_cast<size_t>(node.integer("parts"));
    for (size_t t = 0; t < out.rows; ++t)
        std::copy_n(in[0]->row(t / parts) + t % parts * out.width, out.width, out.row(t));
}

// Bands are padded one by one, channels only behind the last: so a part begins at any lane, or at a whole
// one.
Status kernel(KernelCall &call) {
    const Type &x = call.type(0), &y = call.result();
    const auto parts = static_cast<uint32_t>(call.node.integer("parts"));
    const bool padded = x.dims.back() > 1 && x.dims.size() == 2;
    call.one_call();
    call.kernel<contract::SplitRows>({.in_row = x.row(),
                                      .row = y.row(),
                                      .width = padded ? y.row() : y.width(),
                                      .parts = parts,
                                      .rows = call.rows() / parts},
                                     {.x = call.rows_of(0), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_split_rows{
    .name = "split_rows",
    .attributes = {{"parts", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
