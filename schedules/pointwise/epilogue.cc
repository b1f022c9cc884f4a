#include "schedules/pointwise/epilogue.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;
using Operand = const std::vector<Expr> &;

namespace {

using Numbers = const std::vector<float> &;
using Function = Expr (*)(const Expr &);

template <Function f> PointwiseOp unary(const char *name, bool nonzero_at_zero = false) {
    return {name, Operands::none,  {},
            {},   nonzero_at_zero, [](const Expr &x, Operand, Numbers) { return f(x); }};
}

Expr relu(const Expr &x) { return max(x, 0.0f); }
Expr absolute(const Expr &x) { return abs(x); }
Expr square(const Expr &x) { return x * x; }
Expr root(const Expr &x) { return sqrt(x); }
Expr exponential(const Expr &x) { return exp(x); }
Expr reciprocal(const Expr &x) { return 1.0f / x; }
Expr error_function(const Expr &x) { return erf32(x); }
Expr sign(const Expr &x) { return select(x > 0.0f, 1.0f, select(x < 0.0f, -1.0f, 0.0f)); }
Expr hardswish(const Expr &x) { return x * clamp(x * (1.0f / 6) + 0.5f, 0.0f, 1.0f); }
// x σ(2u), which is x (1 + tanh u) / 2 without cancellation.
Expr gelu_tanh(const Expr &x) { return x * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x)); }
// The logarithm sees 1 to 2 only: its error stays below one rounding of the sum.
Expr softplus(const Expr &x) { return max(x, 0.0f) + logarithm(1.0f + exp(-min(abs(x), 87.0f))); }
// e^x − 1 = 2t / (1 − t), t = tanh(x / 2), which keeps the relative error near 0.
Expr exp_minus_one(const Expr &x) {
    const Expr t = hyperbolic_tangent(0.5f * x);
    return 2.0f * t / (1.0f - t);
}

} // namespace

const PointwiseOp &pointwise_op(Params &entry) {
    static const std::vector<PointwiseOp> table = {
        {"add",
         Operands::whole,
         {"add"},
         {},
         false,
         [](const Expr &x, Operand y, Numbers) { return x + y[0]; }},
        {"affine",
         Operands::row,
         {"scale", "shift"},
         {},
         false,
         [](const Expr &x, Operand y, Numbers) { return x * y[0] + y[1]; }},
        {"mul",
         Operands::whole,
         {"mul"},
         {},
         false,
         [](const Expr &x, Operand y, Numbers) { return x * y[0]; }},
        {"maximum",
         Operands::whole,
         {"maximum"},
         {},
         false,
         [](const Expr &x, Operand y, Numbers) { return max(x, y[0]); }},
        {"minimum",
         Operands::whole,
         {"minimum"},
         {},
         false,
         [](const Expr &x, Operand y, Numbers) { return min(x, y[0]); }},
        {"where",
         Operands::whole,
         {"where", "otherwise"},
         {},
         false,
         [](const Expr &x, Operand y, Numbers) { return select(x > 0.0f, y[0], y[1]); }},
        {"clamp",
         Operands::none,
         {},
         {"low", "high"},
         true,
         [](const Expr &x, Operand, Numbers n) { return max(min(x, n[1]), n[0]); }},
        {"elu",
         Operands::none,
         {},
         {"alpha"},
         false,
         [](const Expr &x, Operand, Numbers n) {
             return select(x > 0.0f, x, n[0] * exp_minus_one(min(x, 0.0f)));
         }},
        {"leaky_relu",
         Operands::none,
         {},
         {"slope"},
         false,
         [](const Expr &x, Operand, Numbers n) { return select(x > 0.0f, x, n[0] * x); }},
        {"log",
         Operands::none,
         {},
         {"offset"},
         true,
         [](const Expr &x, Operand, Numbers n) { return logarithm(x + n[0]); }},
        unary<absolute>("abs"),
        unary<cosine>("cos", true),
        unary<error_function>("erf"),
        unary<exponential>("exp", true),
        unary<whole_below>("floor"),
        unary<gelu>("gelu"),
        unary<gelu_tanh>("gelu_tanh"),
        unary<hardswish>("hardswish"),
        unary<reciprocal>("reciprocal", true),
        unary<relu>("relu"),
        unary<nearest_whole>("round"),
        unary<root>("sqrt"),
        unary<sigmoid>("sigmoid", true),
        unary<sign>("sign"),
        unary<silu>("silu"),
        unary<sine>("sin"),
        unary<softplus>("softplus", true),
        unary<square>("square"),
        unary<hyperbolic_tangent>("tanh"),
    };
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const PointwiseOp &op : table) names.push_back(op.name);
    const std::string name = entry.choice("op", names);
    for (const PointwiseOp &op : table)
        if (name == op.name) return op;
    entry.fail("no op of this name"); // choice() has refused it already
}

} // namespace longwave::schedules
