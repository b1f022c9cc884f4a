#include "schedules/spirv/butterflies.h"

namespace longwave::gpu {

namespace {

Complex operator+(const Complex &a, const Complex &b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex &a, const Complex &b) { return {a.re - b.re, a.im - b.im}; }
// x times the conjugate of w.
Complex back_by(const Complex &x, const Complex &w) {
    return {fma(x.re, w.re, x.im * w.im), fma(x.im, w.re, -(x.re * w.im))};
}
Complex times_minus_i(const Complex &x) { return {x.im, -x.re}; }

// One level back: x + y and (x − y) times the conjugate of s.
void back_one(std::span<Complex> x, const Roots &root) {
    const Complex s = root({0, 0});
    const size_t half = x.size() / 2;
    for (size_t q = 0; q < half; q++) {
        const Complex a = x[q], b = x[q + half];
        x[q] = a + b;
        x[q + half] = back_by(a - b, s);
    }
}

// Two levels back: the second half of the inner level is i times the first, so its root needs no
// multiplication of its own.
void back_two(std::span<Complex> x, uint32_t level, const Roots &root, bool product_known) {
    const size_t quarter = x.size() >> (level + 1);
    for (uint32_t block = 0; block < 1u << (level - 1); block++) {
        const Complex outer = root({level - 1, block}), inner = root({level, 2 * block});
        const Complex both = product_known ? root({level, block, true}) : product(outer, inner);
        for (size_t q = 0; q < quarter; q++) {
            std::array<size_t, 4> at;
            for (size_t i = 0; i < 4; i++) at[i] = (4 * block + i) * quarter + q;
            const Complex sum = x[at[0]] + x[at[1]], difference = x[at[0]] - x[at[1]];
            const Complex second_sum = x[at[2]] + x[at[3]], turned = times_minus_i(x[at[2]] - x[at[3]]);
            x[at[0]] = sum + second_sum;
            x[at[1]] = back_by(difference + turned, inner);
            x[at[2]] = back_by(sum - second_sum, outer);
            x[at[3]] = back_by(difference - turned, both);
        }
    }
}

} // namespace

Complex product(const Complex &a, const Complex &b) {
    return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

// s of each block splits it into a + s b and a − s b, in six multiply-adds.
void butterfly(std::span<Complex> x, const Roots &root) {
    const Float two = x[0].re.program->real(2);
    const auto radix = static_cast<uint32_t>(x.size());
    for (uint32_t level = 0; level < log2_of(radix); level++) {
        const uint32_t half = radix >> (level + 1);
        for (uint32_t block = 0; block < 1u << level; block++) {
            const Complex s = root({level, block});
            const Float minus_im = -s.im;
            for (uint32_t q = 0; q < half; q++) {
                Complex &upper = x[2 * half * block + q], &lower = x[2 * half * block + q + half];
                const Complex a = upper, b = lower;
                upper = {fma(minus_im, b.im, fma(s.re, b.re, a.re)), fma(s.im, b.re, fma(s.re, b.im, a.im))};
                lower = {fma(two, a.re, -upper.re), fma(two, a.im, -upper.im)};
            }
        }
    }
}

void butterfly_back(std::span<Complex> x, const Roots &root, bool constants) {
    const auto radix = static_cast<uint32_t>(x.size());
    for (uint32_t left = log2_of(radix); left > 0;) {
        const uint32_t level = left - 1;
        if (!schedules::paired(level)) return back_one(x, root);
        back_two(x, level, root, constants || schedules::product_in_table(radix, level));
        left -= 2;
    }
}

} // namespace longwave::gpu
