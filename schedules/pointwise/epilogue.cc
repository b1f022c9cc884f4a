#include "schedules/pointwise/epilogue.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;
using Operand = const std::vector<Expr> &;

const PointwiseOp &pointwise_op(Params &entry) {
    static const std::vector<PointwiseOp> table = {
        {"add", Operands::whole, {"add"}, false, [](const Expr &x, Operand y, float) { return x + y[0]; }},
        {"affine",
         Operands::row,
         {"scale", "shift"},
         false,
         [](const Expr &x, Operand y, float) { return x * y[0] + y[1]; }},
        {"gelu", Operands::none, {}, false, [](const Expr &x, Operand, float) { return gelu(x); }},
        {"log",
         Operands::none,
         {},
         true,
         [](const Expr &x, Operand, float offset) { return logarithm(x + offset); },
         "offset"},
        {"mul", Operands::whole, {"mul"}, false, [](const Expr &x, Operand y, float) { return x * y[0]; }},
        {"relu", Operands::none, {}, false, [](const Expr &x, Operand, float) { return max(x, 0.0f); }},
        {"sigmoid", Operands::none, {}, true, [](const Expr &x, Operand, float) { return sigmoid(x); }},
        {"silu", Operands::none, {}, false, [](const Expr &x, Operand, float) { return silu(x); }},
        // The logarithm sees 1 to 2 only: its error stays below one rounding of the sum.
        {"softplus",
         Operands::none,
         {},
         true,
         [](const Expr &x, Operand, float) { return max(x, 0.0f) + logarithm(1.0f + exp(-min(abs(x), 87.0f))); }},
        {"tanh",
         Operands::none,
         {},
         false,
         [](const Expr &x, Operand, float) { return hyperbolic_tangent(x); }},
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
