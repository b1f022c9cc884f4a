// glu: the first half of a row times the sigmoid of the second half. It has no kernel: the linear
// layer before it absorbs it, or the pass split_lone splits it.
#include "compiler/ir/builder.h"
#include "compiler/ops/support/rules.h"
#include <cmath>
#include <numeric>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    if (in[0].dims[0] % 2) return Status::input("expected two halves, found " + rules::text(in[0].dims));
    Type type = in[0];
    type.dims[0] /= 2;
    return type;
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t i = 0; i < out.width; ++i)
            out.row(t)[i] = in[0]->row(t)[i] / (1 + std::exp(-in[0]->row(t)[out.width + i]));
}

Expected<ValueId> half(Builder &to, const Node &node, ValueId x, bool second) {
    const uint32_t n = to.graph().type(x).dims[0] / 2;
    std::vector<double> index(n);
    std::iota(index.begin(), index.end(), second ? n : 0);
    const ValueId places = to.constant(node.layer + (second ? ".gates" : ".values"), {n}, std::move(index));
    return to.node("take", {x, places}, {{"bands", int64_t{1}}}, node.layer);
}

Expected<ValueId> split(Builder &to, const Node &node, ValueId x) {
    LW_ASSIGN(const ValueId values, half(to, node, x, false));
    LW_ASSIGN(const ValueId gates, half(to, node, x, true));
    LW_ASSIGN(const ValueId open, to.node("sigmoid", {gates}, {}, node.layer));
    return to.node("mul", {values, open}, {}, node.layer);
}

} // namespace

const OpDef op_glu{
    .name = "glu",
    .attributes = {},
    .infer = infer,
    .stream = row_by_row,
    .rewrites = {.split = split},
    .reference = reference,
};

} // namespace longwave::ir
