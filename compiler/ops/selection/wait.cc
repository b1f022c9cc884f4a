// wait: in a stream, rows that come later, so that they meet those of a branch that looks ahead.
// The rows themselves stay the same: y[t] = x[t]. make_streaming adds it; packages cannot name it.
#include "compiler/ops/selection/selection.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr uint32_t longest = 1 << 20;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_ASSIGN(const uint32_t rows, rules::integer(node, "rows", 1, longest));
    Type type = in[0];
    type.delay += static_cast<uint32_t>(uint64_t{rows} * type.clock.den / type.clock.num);
    return type;
}

void reference(const Node &, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t t = 0; t < out.rows; ++t) std::copy_n(in[0]->row(t), out.width, out.row(t));
}

} // namespace

Expected<ValueId> make_wait(Builder &to, ValueId x, int64_t rows, const std::string &layer) {
    return to.node(op_wait.name, {x}, {{"rows", rows}}, layer);
}

const OpDef op_wait{
    .name = "wait",
    .attributes = {{"rows", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = keep_shifted_rows,
    .begins_late = true,
    .of_passes = true,
    .no_epilogue = true,
    .kernel = shift_kernel,
    .reference = reference,
};

} // namespace longwave::ir
