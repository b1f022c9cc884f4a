// Functions of one value: activations and the logarithm. To add one: a function, a line at the end,
// a line in op_table.inc, a line in schedules/pointwise/epilogue.cc.
#include "compiler/ops/pointwise/factors.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>
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
double gelu_tanh(double x, const Node &) { // the approximation of Hendrycks and Gimpel 2016
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double hardswish(double x, const Node &) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double leaky_relu(double x, const Node &node) { return x > 0 ? x : node.number("slope") * x; }
double elu(double x, const Node &node) { return x > 0 ? x : node.number("alpha") * std::expm1(x); }
double clamp(double x, const Node &node) {
    return std::fmin(std::fmax(x, node.number("low")), node.number("high"));
}
double abs(double x, const Node &) { return std::fabs(x); }
double sin(double x, const Node &) { return std::sin(x); }
double cos(double x, const Node &) { return std::cos(x); }
double erf(double x, const Node &) { return std::erf(x); }
double floor(double x, const Node &) { return std::floor(x); }
double round(double x, const Node &) { // halves to the even neighbour
    const double rest = std::fmod(std::fabs(x), 2);
    return rest == 0.5 ? std::trunc(x) : rest == 1.5 ? x + std::copysign(0.5, x) : std::round(x);
}
double sign(double x, const Node &) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double square(double x, const Node &) { return x * x; }
double sqrt(double x, const Node &) { return std::sqrt(x); }
double exp(double x, const Node &) { return std::exp(x); }
double reciprocal(double x, const Node &) { return 1 / x; }
double log(double x, const Node &node) { return std::log(x + node.number("offset")); }

template <double f(double, const Node &)>
void each(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = f(in[0]->data[i], node);
}

enum class AtZero { zero, other }; // f(0)

template <double f(double, const Node &)>
OpDef unary(const char *name, AtZero at_zero, std::vector<AttributeDef> numbers = {},
            Expected<Type> (*infer)(const Node &, std::span<const Type>) = infer_same) {
    return {.name = name,
            .attributes = std::move(numbers),
            .infer = infer,
            .stream = row_by_row,
            .pointwise = Pointwise::unary,
            .nonzero_at_zero = at_zero == AtZero::other,
            .reference = each<f>};
}

Expected<Type> infer_clamp(const Node &node, std::span<const Type> in) {
    if (!(node.number("low") <= node.number("high")))
        return Status::input(fmt::format("expected low to be at most high, found low {} and high {}",
                                         node.number("low"), node.number("high")));
    return infer_same(node, in);
}

AttributeDef number(const char *name) { return {name, AttributeDef::Kind::number}; }

} // namespace

const OpDef op_abs = unary<abs>("abs", AtZero::zero);
const OpDef op_clamp = unary<clamp>("clamp", AtZero::other, {number("low"), number("high")}, infer_clamp);
const OpDef op_cos = unary<cos>("cos", AtZero::other);
const OpDef op_elu = unary<elu>("elu", AtZero::zero, {number("alpha")});
const OpDef op_erf = unary<erf>("erf", AtZero::zero);
const OpDef op_exp = unary<exp>("exp", AtZero::other);
const OpDef op_floor = unary<floor>("floor", AtZero::zero);
const OpDef op_gelu = unary<gelu>("gelu", AtZero::zero);
const OpDef op_gelu_tanh = unary<gelu_tanh>("gelu_tanh", AtZero::zero);
const OpDef op_hardswish = unary<hardswish>("hardswish", AtZero::zero);
const OpDef op_leaky_relu = unary<leaky_relu>("leaky_relu", AtZero::zero, {number("slope")});
const OpDef op_log = unary<log>("log", AtZero::other, {number("offset")});
const OpDef op_reciprocal = unary<reciprocal>("reciprocal", AtZero::other);
const OpDef op_relu = unary<relu>("relu", AtZero::zero);
const OpDef op_round = unary<round>("round", AtZero::zero);
const OpDef op_sigmoid = unary<sigmoid>("sigmoid", AtZero::other);
const OpDef op_sign = unary<sign>("sign", AtZero::zero);
const OpDef op_silu = unary<silu>("silu", AtZero::zero);
const OpDef op_sin = unary<sin>("sin", AtZero::zero);
const OpDef op_softplus = unary<softplus>("softplus", AtZero::other);
const OpDef op_sqrt = unary<sqrt>("sqrt", AtZero::zero);
const OpDef op_square = unary<square>("square", AtZero::zero);
const OpDef op_tanh = unary<tanh>("tanh", AtZero::zero);

bool keeps_positive_factors(const Node &node) {
    return node.op == &op_relu || node.op == &op_leaky_relu || node.op == &op_abs;
}

} // namespace longwave::ir
