#include "schedules/pointwise/elementary.h"
#include "schedules/halide/internals.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

Expr horner(const Expr &t, const std::vector<float> &coefficients) {
    Expr value = coefficients.back();
    for (size_t i = coefficients.size() - 1; i-- > 0;) value = value * t + coefficients[i];
    return value;
}

// exp of an argument kept where neither the result nor its use overflows.
Expr bounded_exp(const Expr &x) { return exp(clamp(x, -87.0f, 87.0f)); }

} // namespace

// x·P(x²)/Q(x²), a minimax fit of degrees 6 and 4 on |x| ≤ 3.9 (beyond it float32 erf is ±1); the fit itself
// is within 5e-8.
Expr erf32(Expr x) {
    x = clamp(x, -3.9f, 3.9f);
    const Expr t = x * x;
    const Expr p =
        horner(t, {1.1283791065216064f, 0.19817888736724854f, 0.050344474613666534f, 0.003632143372669816f,
                   0.0001405957154929638f, -1.963191607501358e-06f, 2.0148279489262677e-08f});
    const Expr q = horner(
        t, {1.0f, 0.5089632272720337f, 0.11427949368953705f, 0.014207577332854271f, 0.0009405468008480966f});
    return x * p / q;
}

Expr gelu(const Expr &x) {
    const Expr half = 0.5f * x;
    return half + half * erf32(x * 0.70710678118654752f);
}

Expr sigmoid(const Expr &x) { return 1.0f / (1.0f + bounded_exp(-x)); }

// Float32 has few digits for 1 - sigmoid(x) where that is small, so that a recurrence that keeps its state
// for thousands of rows would forget at another rate. The smaller of both weights is exact to the last digit.
Expr sigmoid_blend(const Expr &x, const Expr &a, const Expr &b, const Expr &more) {
    const Expr e = bounded_exp(-abs(x)), smaller = e / (1.0f + e);
    // Strict: where a is 0, b - smaller b would become b (1 - smaller). What changes b is summed first, so
    // that b is rounded once.
    return strict_float(select(x > 0.0f, b + (smaller * (a - b) + more), a + (smaller * (b - a) + more)));
}

// tanh x = 2 n d / (n² + d²), where n / d = x·P(x²)/Q(x²) is tanh(x / 2): a minimax fit of degrees 2 and 3 on
// |x| ≤ 8.8 (beyond it float32 tanh is ±1), within 7e-9 relative to the result. Half the argument because
// rounding n and d then changes no result near ±1. Errors: 1.9e-7, and near 0 3.4e-7 relative to x.
Expr hyperbolic_tangent(const Expr &x) {
    const Expr inside = clamp(x, -8.8f, 8.8f), t = inside * inside;
    const Expr n = inside * horner(t, {0.5f, 0.014890715479850769f, 5.7213823311030865e-05f});
    const Expr d = horner(t, {1.0f, 0.11311472207307816f, 0.0012073602993041277f, 1.2328877119216486e-06f});
    return 2.0f * n * d / (n * n + d * d);
}

// Near 0 the odd polynomial of Cephes' tanhf, which keeps the relative error; elsewhere by exp.
Expr hyperbolic_tangent_of_cell(const Expr &x) {
    const Expr t = x * x, size = abs(x);
    const Expr near = x + x * t *
                              horner(t, {-3.33332819422e-1f, 1.33314422036e-1f, -5.37397155531e-2f,
                                         2.06390887954e-2f, -5.70498872745e-3f});
    const Expr far = 1.0f - 2.0f / (bounded_exp(2.0f * size) + 1.0f);
    return select(size < 0.625f, near, select(x < 0.0f, -far, far));
}

Expr silu(const Expr &x) { return x / (1.0f + bounded_exp(-x)); }
Expr logarithm(const Expr &x) { return log(max(x, 1.17549435e-38f)); }

// 2^n 2^r with |r| <= 1/2: n moves the exponent. Within 1.0e-7; the fit alone is within 2e-9. At -127 the
// bits are those of 0.
Expr small_power_of_two(const Expr &x) {
    const Expr bounded = max(x, -127.0f), n = cast<int32_t>(bounded - 0.5f), r = bounded - cast<float>(n);
    const Expr power = horner(r, {1.0f, 0.6931471824645996f, 0.24022647738456726f, 0.055503323674201965f,
                                  0.00961843691766262f, 0.0013398876180872321f, 0.0001535335904918611f});
    return reinterpret<float>(reinterpret<int32_t>(power) + n * (1 << 23));
}

Expr whole_below(const Expr &x) {
    const float all_whole = 8388608.0f; // 2^23: float32 has no fractions from here on
    const Expr part = cast<float>(cast<int32_t>(clamp(x, -all_whole, all_whole)));
    return select(abs(x) < all_whole, select(part > x, part - 1.0f, part), x);
}

// Halves go to the even neighbour.
Expr nearest_whole(const Expr &x) {
    const Expr below = whole_below(x), rest = x - below, odd = below - 2.0f * whole_below(0.5f * below);
    return select(rest > 0.5f, below + 1.0f, select(rest < 0.5f, below, below + odd));
}

// x = (n + shift) π + r with |r| ≤ π/2: (-1)^n sin r. π in three parts, of which the first two have few
// bits, so that n times them is exact up to 2^15 turns. Then a minimax fit, within 9e-9.
static Expr sine_behind(const Expr &x, float shift) {
    const Expr n = whole_below(x * 0.318309886183790672f + (0.5f - shift)), turns = n + shift;
    Expr r = strict_float(x - turns * 3.140625f);
    r = strict_float(r - turns * 9.67502593994140625e-4f);
    r = clamp(strict_float(r - turns * 1.509957990978376432e-7f), -1.5708f, 1.5708f);
    const Expr t = r * r;
    const Expr sine = r + r * t * horner(t, {-1.6666657e-1f, 8.333011e-3f, -1.9806188e-4f, 2.5992476e-6f});
    return select(n - 2.0f * whole_below(0.5f * n) > 0.5f, -sine, sine);
}

Expr sine(const Expr &x) { return sine_behind(x, 0.0f); }
Expr cosine(const Expr &x) { return -sine_behind(x, 0.5f); }

// The nearest quarter of a turn in whole numbers, then the polynomials of Cephes' sinf and cosf on ±1/8
// turn.
Rotation rotation_of(const Expr &phase) {
    const Expr quarter = (cast<uint32_t>(phase) + constant(UInt(32), 1 << 29)) >> 30;
    const Expr rest = cast<int32_t>(cast<uint32_t>(phase) - (quarter << 30));
    const Expr x = cast<float>(rest) * 1.4629180792671596e-9f, t = x * x; // 2π / 2^32
    const Expr s = x + x * t * horner(t, {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f});
    const Expr c = 1.0f - 0.5f * t +
                   t * t * horner(t, {4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f});
    const Expr odd = (quarter & 1) == 1;
    const Expr cosine = select(odd, s, c), sine = select(odd, c, s);
    return {select(quarter == 1 || quarter == 2, -cosine, cosine), select(quarter >= 2, -sine, sine)};
}

} // namespace longwave::schedules
