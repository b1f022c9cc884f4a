// long_conv: each channel with its own long kernel, in lag form (k[0] weighs the current row), plus D times the current row.
// Two-sided: the second half of the kernels starts at lag −1, so its first tap weighs the next row.
#include "compiler/ops/kernel_call.h"
#include "compiler/ops/rules.h"

namespace longwave::compiler::convolution {
#define LW_ALGORITHM(name) extern const ir::Algorithm name;
#include "compiler/planner/convolution/table.inc"
#undef LW_ALGORITHM
} // namespace longwave::compiler::convolution

namespace longwave::ir {

namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t copies, rules::integer(node, "channels", 1, 1 << 20));
    LW_ASSIGN(const uint32_t two_sided, rules::flag(node, "two_sided"));
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    const uint32_t heads = in[0].dims[0];
    LW_TRY(rules::operand(in[1], "kernel", {two_sided ? 2 * copies : copies, heads, 0}));
    LW_TRY(rules::operand(in[2], "D", {copies, heads}));
    Type type = in[0];
    if (copies > 1) type.dims = heads > 1 ? std::vector<uint32_t>{copies, heads} : std::vector<uint32_t>{copies};
    type.causal = in[0].causal && !two_sided;
    return type;
}

StreamRule stream(const Node &node, std::span<const Type> in) {
    if (node.integer("two_sided")) return looks_ahead("it is bidirectional (the second kernel reads samples after t)");
    return history(in[1].dims[2] - 1);
}

// Written from the input's side: row s reaches rows s, s+1, … through k0 and rows s−1, s−2, … through k1. Zero rows cost nothing.
void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context, Array &out) {
    const Operand &u = *in[0];
    const auto copies = static_cast<size_t>(node.integer("channels"));
    const size_t heads = u.width, taps = context.types[1].dims[2];
    for (size_t c = 0; c < copies; ++c)
        for (size_t h = 0; h < heads; ++h) {
            const std::vector<double> k0 = in[1]->data.copy((c * heads + h) * taps, taps);
            const std::vector<double> k1 = in[1]->data.copy(((copies + c) * heads + h) * taps, node.integer("two_sided") ? taps : 0);
            for (size_t s = 0; s < u.rows; ++s) {
                const double x = u.row(s)[h];
                if (x == 0) continue;
                out.row(s)[c * heads + h] += in[2]->data[c * heads + h] * x;
                for (size_t j = 0; j < taps && s + j < out.rows; ++j) out.row(s + j)[c * heads + h] += k0[j] * x;
                for (size_t j = 0; j < k1.size() && j < s; ++j) out.row(s - 1 - j)[c * heads + h] += k1[j] * x;
            }
        }
}

// In the order of planner/convolution/.
#define LW_ALGORITHM(name) &compiler::convolution::name,
constexpr const Algorithm *algorithms[] = {
#include "compiler/planner/convolution/table.inc"
};
#undef LW_ALGORITHM

} // namespace

const OpDef op_long_conv{
    .name = "long_conv",
    .attributes = {{"channels", AttributeDef::Kind::integer}, {"two_sided", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .length = LengthRule::mask, // a causal one is exact as well; only the two-sided kernel reads rows after the end
    .channel_tiles = true,
    .algorithms = algorithms,
    .reference = reference,
};

} // namespace longwave::ir
