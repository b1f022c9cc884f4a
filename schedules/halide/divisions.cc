#include "schedules/halide/divisions.h"
#include <optional>

namespace longwave::schedules {

using namespace Halide;

namespace {

std::optional<int> odd_divisor(const Expr &e) {
    if (e.type() != Int(32)) return {};
    const auto value = Internal::as_const_int(e);
    if (!value || *value < 2 || (*value & (*value - 1)) == 0) return {};
    return static_cast<int>(*value);
}

// The quotient in float32 is off by 2^-22 of itself: by less than 2^10, then, for what was left, by
// less than 1.
Expr divided(const Expr &n, int divisor) {
    const float inverse = 1.0f / static_cast<float>(divisor);
    const std::string name = Internal::unique_name("quotient"), nearer = Internal::unique_name("quotient");
    const Expr first = cast<int>(cast<float>(n) * inverse), q = Internal::Variable::make(Int(32), name);
    const Expr second = q + cast<int>(cast<float>(n - q * divisor) * inverse),
               r = Internal::Variable::make(Int(32), nearer);
    const Expr rest = n - r * divisor, exact = r + select(rest < 0, -1, select(rest >= divisor, 1, 0));
    return Internal::Let::make(name, first, Internal::Let::make(nearer, second, exact));
}

} // namespace

// The dividend is computed once, or a chain of divisions would grow with a power of its length.
template <class F> static Expr with_dividend(const Expr &dividend, const F &result) {
    const std::string name = Internal::unique_name("dividend");
    return Internal::Let::make(name, dividend, result(Internal::Variable::make(Int(32), name)));
}

Expr NarrowDivisions::visit(const Internal::Div *op) {
    const auto divisor = odd_divisor(op->b);
    if (!divisor) return Internal::IRMutator::visit(op);
    return with_dividend(mutate(op->a), [&](const Expr &n) { return divided(n, *divisor); });
}

Expr NarrowDivisions::visit(const Internal::Mod *op) {
    const auto divisor = odd_divisor(op->b);
    if (!divisor) return Internal::IRMutator::visit(op);
    return with_dividend(mutate(op->a), [&](const Expr &n) { return n - divided(n, *divisor) * *divisor; });
}

} // namespace longwave::schedules
