#include "schedules/transforms/butterfly.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/internals.h"
#include <cmath>
#include <numbers>
#include <tuple>

namespace longwave::schedules {

using namespace Halide;

namespace {

Expr add(const Expr &a, const Expr &b) { return !a.defined() ? b : !b.defined() ? a : a + b; }
Expr subtract(const Expr &a, const Expr &b) { return !b.defined() ? a : !a.defined() ? -b : a - b; }
Expr multiply(const Expr &a, const Expr &b) { return !a.defined() || !b.defined() ? Expr() : a * b; }
Expr negate(const Expr &a) { return a.defined() ? -a : Expr(); }
Complex scaled(const Complex &a, double factor) {
    auto part = [&](const Expr &e) { return e.defined() ? e * constant(e.type(), factor) : Expr(); };
    return {part(a.re), part(a.im)};
}
std::vector<Expr> parts(const std::vector<Complex> &x, Type type, Expr Complex::*part) {
    std::vector<Expr> list;
    list.reserve(x.size());
    for (const Complex &value : x) list.push_back((value.*part).defined() ? value.*part : zero(type));
    return list;
}

} // namespace

Complex operator+(const Complex &a, const Complex &b) { return {add(a.re, b.re), add(a.im, b.im)}; }
Complex operator-(const Complex &a, const Complex &b) { return {subtract(a.re, b.re), subtract(a.im, b.im)}; }
Complex operator*(const Complex &a, const Complex &b) {
    return {subtract(multiply(a.re, b.re), multiply(a.im, b.im)),
            add(multiply(a.re, b.im), multiply(a.im, b.re))};
}
Complex times_conjugate(const Complex &a, const Complex &b) {
    return {add(multiply(a.re, b.re), multiply(a.im, b.im)),
            subtract(multiply(a.im, b.re), multiply(a.re, b.im))};
}
Complex times_i(const Complex &a) { return {negate(a.im), a.re}; }

namespace {

// a + r·b, and a − r·b as 2·a − (a + r·b): six multiply-adds.
std::pair<Complex, Complex> fused_pair(const Complex &a, const Complex &b, const Complex &r,
                                       const Expr &two) {
    const Complex sum = {(a.re + r.re * b.re) - r.im * b.im, (a.im + r.re * b.im) + r.im * b.re};
    return {sum, {two * a.re - sum.re, two * a.im - sum.im}};
}

} // namespace

std::vector<Complex> dft(const std::vector<Complex> &x) {
    const double pi = std::numbers::pi;
    switch (x.size()) {
    case 2: return {x[0] + x[1], x[0] - x[1]};
    case 3: {
        const Complex sum = x[1] + x[2], rotated = times_i(scaled(x[1] - x[2], std::sqrt(3.0) / 2)),
                      middle = x[0] - scaled(sum, 0.5);
        return {x[0] + sum, middle + rotated, middle - rotated};
    }
    case 4: {
        const Complex even = x[0] + x[2], odd = x[1] + x[3], evens = x[0] - x[2], odds = times_i(x[1] - x[3]);
        return {even + odd, evens + odds, even - odd, evens - odds};
    }
    default: { // 5
        const Complex a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3];
        const double c1 = std::cos(2 * pi / 5), c2 = std::cos(4 * pi / 5), s1 = std::sin(2 * pi / 5),
                     s2 = std::sin(4 * pi / 5);
        const Complex p = x[0] + scaled(a, c1) + scaled(b, c2), q = x[0] + scaled(a, c2) + scaled(b, c1);
        const Complex u = times_i(scaled(c, s1) + scaled(d, s2)), v = times_i(scaled(c, s2) - scaled(d, s1));
        return {x[0] + a + b, p + u, q + v, q - v, p - u};
    }
    }
}

std::vector<Expr> real_parts(const std::vector<Complex> &x, Type type) {
    return parts(x, type, &Complex::re);
}
std::vector<Expr> imaginary_parts(const std::vector<Complex> &x, Type type) {
    return parts(x, type, &Complex::im);
}

RightAngle::RightAngle(int length, Type type, std::function<Expr(Expr)> table, bool fused)
    : radices_(right_angle_radices(static_cast<uint32_t>(length))), type_(type), table_(std::move(table)) {
    // The number 2, since no twiddle is larger. LLVM, which reorders sums, would undo the
    // butterflies if it knew.
    if (fused) two_ = max(table_(0), constant(type, 2));
}

int RightAngle::blocks(int level) const {
    int count = 1;
    for (int s = 0; s < level; s++) count *= radices_[s];
    return count;
}

// False: not one of those.
bool RightAngle::fused_forward(std::vector<Complex> &point, int level, const Expr &block) const {
    const size_t radix = point.size();
    if (!two_.defined() || (radix != 2 && radix != 4)) return false;
    for (const Complex &x : point)
        if (!x.re.defined() || !x.im.defined()) return false;
    const Complex r = twiddle(level, block, 1);
    if (radix == 2) {
        std::tie(point[0], point[1]) = fused_pair(point[0], point[1], r, two_);
        return true;
    }
    const Complex squared = twiddle(level, block, 2);
    const auto [even, evens] = fused_pair(point[0], point[2], squared, two_);
    const auto [odd, odds] = fused_pair(point[1], point[3], squared, two_); // without their factor r
    std::tie(point[0], point[2]) = fused_pair(even, odd, r, two_);
    std::tie(point[1], point[3]) = fused_pair(evens, times_i(odds), r, two_);
    return true;
}

void RightAngle::forward_part(std::vector<Complex> &x, size_t offset, size_t size, int level,
                              const Expr &block) const {
    if (size == 1) return;
    const int radix = radices_[level];
    const size_t step = size / radix;
    for (size_t i = 0; i < step; i++) {
        std::vector<Complex> point(radix);
        for (int m = 0; m < radix; m++) point[m] = x[offset + i + m * step];
        if (!fused_forward(point, level, block)) {
            for (int m = 1; m < radix; m++) point[m] = point[m] * twiddle(level, block, m);
            point = dft(point);
        }
        for (int j = 0; j < radix; j++) x[offset + i + j * step] = point[j];
    }
    for (int j = 0; j < radix; j++)
        forward_part(x, offset + j * step, step, level + 1, simplified(block * radix + j));
}

void RightAngle::inverse_part(std::vector<Complex> &x, size_t offset, size_t size, int level,
                              const Expr &block) const {
    if (size == 1) return;
    const int radix = radices_[level];
    const size_t step = size / radix;
    for (int j = 0; j < radix; j++)
        inverse_part(x, offset + j * step, step, level + 1, simplified(block * radix + j));
    for (size_t i = 0; i < step; i++) {
        std::vector<Complex> point(radix);
        for (int j = 0; j < radix; j++)
            point[(radix - j) % radix] = x[offset + i + j * step]; // changes the sign of the exponent
        point = dft(point);
        for (int m = 0; m < radix; m++)
            x[offset + i + m * step] =
                m == 0 ? point[m] : times_conjugate(point[m], twiddle(level, block, m));
    }
}

Complex RightAngle::twiddle(int level, const Expr &block, int power) const {
    if (twiddles_) return twiddles_(power);
    const int radix = radices_[level];
    if (const auto known = constant_value(block)) {
        const double angle = 2 * std::numbers::pi * phase(radices_, 0.25, level, *known) / radix * power;
        return {constant(type_, std::cos(angle)), constant(type_, std::sin(angle))};
    }
    const int count = blocks(level), first = 2 * (count - 1);
    if (order_ == TwiddleOrder::by_factor) {
        const Expr re = first + 2 * (power - 1) * count + block;
        return {table_(re), table_(re + count)};
    }
    const Expr at = first + 2 * (block * (radix - 1) + (power - 1));
    return {table_(at), table_(at + 1)};
}

} // namespace longwave::schedules
