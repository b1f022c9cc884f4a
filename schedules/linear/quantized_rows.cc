#include "schedules/linear/quantized_rows.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// Rows of smaller numbers count as zeros. Its inverse times any number of steps is finite.
constexpr float smallest_peak = 1e-30f;

int largest_power_at_most(int n) {
    int power = 1;
    while (power * 2 <= n) power *= 2;
    return power;
}

} // namespace

QuantizedRows::QuantizedRows(const Product &product, const Expr &most_steps)
    : p_(product), vec_(largest_power_at_most(std::min(product.in, static_cast<int>(lanes)))) {
    // THE ALGORITHM Magnitudes in the order of their bits: a NaN or an infinity is larger than all
    // numbers, so it gets into the unit and from there into all outputs of the row, as it would
    // through float32 sums. The last vector overlaps.
    RDom a(0, (p_.in + vec_ - 1) / vec_, "a"), f(0, vec_, "f");
    const Expr first = p_.in % vec_ ? min(a * vec_, p_.in - vec_) : a * vec_;
    const Expr bits = reinterpret<int32_t>(p_.x(p_.first + first + l, r)) & 0x7fffffff;
    peaks_(l, r) = reinterpret<int32_t>(Expr(smallest_peak));
    peaks_(l, r) = max(peaks_(l, r), bits);
    peak_(r) = reinterpret<int32_t>(Expr(smallest_peak));
    peak_(r) = max(peak_(r), peaks_(f, r));
    const Expr peak = reinterpret<float>(peak_(r));
    unit_(r) = peak / most_steps;
    inverse_(r) = most_steps / peak;
    // 1.5 · 2^23 plus a number of less than 2^22 is rounded to a whole number, which is then its
    // lower bits. No libm.
    const Expr whole = strict_float(p_.input(i, r, 0) * inverse_(r)) + 12582912.0f;
    steps_(i, r) = cast<int16_t>(reinterpret<int32_t>(whole));
    // The lower digit is from -128 to 127, so the upper one is rounded. Of at most 32,512 steps it is
    // at most 127.
    digits_(i, d, r) = cast<int8_t>(select(d == 0, steps_(i, r), (steps_(i, r) + 128) >> 8));
}

// THE SCHEDULE
void QuantizedRows::schedule(int natural, bool digits) {
    const int vec = std::min(vec_, natural);
    peaks_.compute_at(peak_, r).vectorize(l, vec).unroll(l);
    peaks_.update().reorder(l, peaks_.rvars()[0], r).vectorize(l, vec).unroll(l);
    peak_.compute_root();
    peak_.update().atomic().vectorize(peak_.rvars()[0]);
    unit_.compute_root();
    inverse_.compute_root();
    const int inputs = p_.inputs(), lanes_of_steps = dividing_vector(inputs, 16);
    steps_.compute_root().vectorize(i, lanes_of_steps);
    if (digits) {
        digits_.compute_root().reorder(d, i, r).bound(d, 0, 2).unroll(d).vectorize(i, lanes_of_steps);
        store(digits_, int64_t{2} * inputs * p_.rows);
    }
    for (Func *f : {&peak_, &unit_, &inverse_}) store(*f, int64_t{4} * p_.rows);
    store(steps_, int64_t{2} * inputs * p_.rows);
}

} // namespace longwave::schedules
