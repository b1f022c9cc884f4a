// Functions of one value: activations and the logarithm. To add one: a function, a line at the end, a line in
// op_table.inc, a line in schedules/pointwise/epilogue.cc.
#include "compiler/ops/support/rules.h"
#include <cmath>
#include <numbers>

namespace longwave::ir {
namespace {

double relu(double x, const Node &) { return x > 0 ? x : 0; }
double sigmoid(double x, const Node &) { return 1 / (1 + std::exp(-x)); }
double silu(double x, const Node &) { return x / (1 + std::exp(-x)); }
double tanh(double x, const Node &) { return std::tanh(x); }
// log(1 + e^x), written so that the exponential cannot overflow.
double softplus(double x, const Node &) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double gelu(double x, const Node &) { return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2); } // x · Φ(x)
double log(double x, const Node &node) { return std::log(x + node.number("offset")); }

template <double f(double, const Node &)>
void each(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = f(in[0]->data[i], node);
}

enum class AtZero { zero, other }; // f(0)

template <double f(double, const Node &)>
OpDef unary(const char *name, AtZero at_zero, std::vector<AttributeDef> numbers = {}) {
    return {.name = name,
            .attributes = std::move(numbers),
            .infer = infer_same,
            .stream = row_by_row,
            .pointwise = Pointwise::unary,
            .nonzero_at_zero = at_zero == AtZero::other,
            .reference = each<f>};
}

AttributeDef number(const char *name) { return {name, AttributeDef::Kind::number}; }

} // namespace

const OpDef op_gelu = unary<gelu>("gelu", AtZero::zero);
const OpDef op_log = unary<log>("log", AtZero::other, {number("offset")});
const OpDef op_relu = unary<relu>("relu", AtZero::zero);
const OpDef op_sigmoid = unary<sigmoid>("sigmoid", AtZero::other);
const OpDef op_silu = unary<silu>("silu", AtZero::zero);
const OpDef op_softplus = unary<softplus>("softplus", AtZero::other);
const OpDef op_tanh = unary<tanh>("tanh", AtZero::zero);

} // namespace longwave::ir
