#include "schedules/linear/quantized_rows.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// Smaller numbers count as zeros. Its inverse times any number of steps is finite.
constexpr float smallest_peak = 1e-30f;

int largest_power_at_most(int n) {
    int power = 1;
    while (power * 2 <= n) power *= 2;
    return power;
}

} // namespace

QuantizedRows::QuantizedRows(const Product &product, const Expr &most_steps, int together)
    : p_(product), together_(together), groups_(together ? product.inputs() / together : 1),
      vec_(largest_power_at_most(std::min(together ? together : product.in, static_cast<int>(lanes)))) {
    // THE ALGORITHM Magnitudes in the order of their bits: a NaN or an infinity is larger than all
    // numbers, so it gets into the unit and from there into all outputs of the row, as it would
    // through float32 sums. The last vector of a row overlaps.
    const int length = together_ ? together_ : p_.in;
    RDom a(0, (length + vec_ - 1) / vec_, "a"), f(0, vec_, "f");
    const Expr first = length % vec_ ? min(a * vec_, length - vec_) : a * vec_;
    const Expr x = together_ ? p_.input(g * together_ + first + l, r, 0) : p_.x(p_.first + first + l, r);
    peaks_(l, g, r) = reinterpret<int32_t>(Expr(smallest_peak));
    peaks_(l, g, r) = max(peaks_(l, g, r), reinterpret<int32_t>(x) & 0x7fffffff);
    peak_(g, r) = reinterpret<int32_t>(Expr(smallest_peak));
    peak_(g, r) = max(peak_(g, r), peaks_(f, g, r));
    const Expr peak = reinterpret<float>(peak_(g, r));
    unit_(g, r) = peak / most_steps;
    inverse_(g, r) = most_steps / peak;
    // 1.5 · 2^23 plus a number of less than 2^22 is rounded to a whole number, which is then its
    // lower bits. No libm.
    const Expr value = p_.input(together_ ? g * together_ + i : Expr(i), r, 0);
    const Expr whole = strict_float(value * inverse_(g, r)) + 12582912.0f;
    steps_(i, g, r) = cast<int16_t>(reinterpret<int32_t>(whole));
    // The lower digit is from -128 to 127, so the upper one is rounded. Of at most 32,512 steps it
    // is at most 127.
    digits_(i, d, g, r) = cast<int8_t>(select(d == 0, steps_(i, g, r), (steps_(i, g, r) + 128) >> 8));
    const int inputs = inputs_of_group(), vec = dividing_vector(inputs, 16);
    RDom b(0, inputs / vec, "b"), e(0, vec, "e");
    digit_sums_(l, d, r) = 0;
    digit_sums_(l, d, r) += cast<int32_t>(digits_(b * vec + l, d, 0, r));
    digit_sum_(d, r) = 0;
    digit_sum_(d, r) += digit_sums_(e, d, r);
}

// THE SCHEDULE
void QuantizedRows::schedule(int natural, int digits, bool sums) {
    const int vec = std::min(vec_, natural);
    peaks_.compute_at(peak_, g).vectorize(l, vec).unroll(l);
    peaks_.update().reorder(l, peaks_.rvars()[0], g, r).vectorize(l, vec).unroll(l);
    peak_.compute_root();
    peak_.update().atomic().vectorize(peak_.rvars()[0]);
    unit_.compute_root();
    inverse_.compute_root();
    const int inputs = inputs_of_group(), lanes_of_steps = dividing_vector(inputs, 16);
    steps_.compute_root().bound(i, 0, inputs).vectorize(i, lanes_of_steps);
    if (digits) {
        digits_.compute_root()
            .bound(i, 0, inputs)
            .reorder(d, i, g, r)
            .bound(d, 0, digits)
            .unroll(d)
            .vectorize(i, lanes_of_steps);
        store(digits_, int64_t{digits} * p_.inputs() * p_.rows);
    }
    if (sums) {
        digit_sums_.compute_at(digit_sum_, d).vectorize(l, std::min(lanes_of_steps, natural)).unroll(l);
        digit_sums_.update()
            .reorder(l, digit_sums_.rvars()[0], d, r)
            .vectorize(l, std::min(lanes_of_steps, natural))
            .unroll(l);
        digit_sum_.compute_root().bound(d, 0, digits).unroll(d);
        digit_sum_.update().unroll(d).atomic().vectorize(digit_sum_.rvars()[0]);
        store(digit_sum_, int64_t{4} * digits * p_.rows);
    }
    for (Func *f : {&peak_, &unit_, &inverse_}) store(*f, int64_t{4} * groups_ * p_.rows);
    store(steps_, int64_t{2} * p_.inputs() * p_.rows);
}

} // namespace longwave::schedules
