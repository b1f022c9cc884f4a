#include "schedules/gpu/butterflies.h"
#include <cmath>
#include <numbers>
#include <vector>

namespace longwave::gpu {

namespace {

Complex operator+(const Complex &a, const Complex &b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex &a, const Complex &b) { return {a.re - b.re, a.im - b.im}; }
// x times the conjugate of w.
Complex back_by(const Complex &x, const Complex &w) {
    return {fma(x.re, w.re, x.im * w.im), fma(x.im, w.re, -(x.re * w.im))};
}
Complex times_minus_i(const Complex &x) { return {x.im, -x.re}; }

Complex add_scaled(const Complex &a, const Complex &b, double scale) {
    const Float by = a.re.program->f32(static_cast<float>(scale));
    return {fma(by, b.re, a.re), fma(by, b.im, a.im)};
}
Complex add_rotated(const Complex &a, const Complex &b, double scale) { // a + scale i b
    return add_scaled(a, {-b.im, b.re}, scale);
}

double cosine(int of_fifths) { return std::cos(2 * std::numbers::pi * of_fifths / 5); }
double sine(int of_fifths) { return std::sin(2 * std::numbers::pi * of_fifths / 5); }

// Σ x_m ω^(j m) for each j, ω a root of one of positive angle; back: of negative angle.
void fourier(std::span<Complex> x, bool back) {
    const double sign = back ? -1 : 1;
    const Complex a = x[0];
    if (x.size() == 3) {
        const Complex sum = x[1] + x[2], difference = x[1] - x[2], middle = add_scaled(a, sum, -0.5);
        x[0] = a + sum;
        x[1] = add_rotated(middle, difference, sign * std::sqrt(3.0) / 2);
        x[2] = add_rotated(middle, difference, -sign * std::sqrt(3.0) / 2);
        return;
    }
    const Complex outer = x[1] + x[4], inner = x[2] + x[3], outer_difference = x[1] - x[4],
                  inner_difference = x[2] - x[3];
    x[0] = a + (outer + inner);
    for (const int j : {1, 2}) {
        const Complex middle = add_scaled(add_scaled(a, outer, cosine(j)), inner, cosine(2 * j));
        for (const double side : {sign, -sign})
            x[side == sign ? static_cast<size_t>(j) : static_cast<size_t>(5 - j)] = add_rotated(
                add_rotated(middle, outer_difference, side * sine(j)), inner_difference, side * sine(2 * j));
    }
}

// The levels of a radix. Blocks of a level lie one after another, `apart` · radix points each.
struct Level {
    uint32_t number = 0, radix = 0, blocks = 0, apart = 0;
};
std::vector<Level> levels_over(size_t points) {
    std::vector<Level> levels;
    auto apart = static_cast<uint32_t>(points);
    uint32_t blocks = 1;
    for (const int radix : schedules::levels_of(apart)) {
        const auto ways = static_cast<uint32_t>(radix);
        apart /= ways;
        levels.push_back({static_cast<uint32_t>(levels.size()), ways, blocks, apart});
        blocks *= ways;
    }
    return levels;
}

// s of each block splits it into a + s b and a − s b, in six multiply-adds.
void split_in_two(std::span<Complex> x, const Level &level, const Roots &root) {
    const Float two = x[0].re.program->f32(2);
    for (uint32_t block = 0; block < level.blocks; block++) {
        const Complex s = root({level.number, block});
        const Float minus_im = -s.im;
        for (uint32_t q = 0; q < level.apart; q++) {
            Complex &upper = x[2 * level.apart * block + q],
                    &lower = x[2 * level.apart * block + q + level.apart];
            const Complex a = upper, b = lower;
            upper = {fma(minus_im, b.im, fma(s.re, b.re, a.re)), fma(s.im, b.re, fma(s.re, b.im, a.im))};
            lower = {fma(two, a.re, -upper.re), fma(two, a.im, -upper.im)};
        }
    }
}

// Levels of three and five, there and back.
void split(std::span<Complex> x, const Level &level, const Roots &root, bool back) {
    for (uint32_t block = 0; block < level.blocks; block++)
        for (uint32_t q = 0; q < level.apart; q++) {
            const auto at = [&](uint32_t m) { return (block * level.radix + m) * level.apart + q; };
            const auto s = [&](uint32_t m) { return root({level.number, block, false, m}); };
            std::vector<Complex> points;
            for (uint32_t m = 0; m < level.radix; m++)
                points.push_back(back || m == 0 ? x[at(m)] : product(x[at(m)], s(m)));
            fourier(points, back);
            for (uint32_t m = 0; m < level.radix; m++)
                x[at(m)] = back && m > 0 ? back_by(points[m], s(m)) : points[m];
        }
}

// One level back: x + y and (x − y) times the conjugate of s.
void join_two(std::span<Complex> x, const Level &level, const Roots &root) {
    for (uint32_t block = 0; block < level.blocks; block++) {
        const Complex s = root({level.number, block});
        for (uint32_t q = 0; q < level.apart; q++) {
            Complex &upper = x[2 * level.apart * block + q],
                    &lower = x[2 * level.apart * block + q + level.apart];
            const Complex a = upper, b = lower;
            upper = a + b;
            lower = back_by(a - b, s);
        }
    }
}

// Two levels back: the second half of the inner level is i times the first, so its root needs no
// multiplication of its own.
void join_four(std::span<Complex> x, const Level &inner_level, const Roots &root, bool product_known) {
    const uint32_t level = inner_level.number, quarter = inner_level.apart;
    for (uint32_t block = 0; block < inner_level.blocks / 2; block++) {
        const Complex outer = root({level - 1, block}), inner = root({level, 2 * block});
        const Complex both = product_known ? root({level, block, true}) : product(outer, inner);
        for (uint32_t q = 0; q < quarter; q++) {
            std::array<size_t, 4> at;
            for (uint32_t i = 0; i < 4; i++) at[i] = (4 * block + i) * quarter + q;
            const Complex sum = x[at[0]] + x[at[1]], difference = x[at[0]] - x[at[1]];
            const Complex second_sum = x[at[2]] + x[at[3]], rotated = times_minus_i(x[at[2]] - x[at[3]]);
            x[at[0]] = sum + second_sum;
            x[at[1]] = back_by(difference + rotated, inner);
            x[at[2]] = back_by(sum - second_sum, outer);
            x[at[3]] = back_by(difference - rotated, both);
        }
    }
}

} // namespace

Complex product(const Complex &a, const Complex &b) {
    return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

void butterfly(std::span<Complex> x, const Roots &root) {
    for (const Level &level : levels_over(x.size()))
        if (level.radix == 2) split_in_two(x, level, root);
        else split(x, level, root, false);
}

void butterfly_back(std::span<Complex> x, const Roots &root, bool constants) {
    const std::vector<Level> levels = levels_over(x.size());
    for (size_t left = levels.size(); left > 0; left--) {
        const Level &level = levels[left - 1];
        if (level.radix != 2) split(x, level, root, true);
        else if (left == 1 || levels[left - 2].radix != 2) join_two(x, level, root);
        else {
            const auto radix = static_cast<uint32_t>(x.size());
            join_four(x, level, root, constants || schedules::product_in_table(radix, level.number));
            left--;
        }
    }
}

} // namespace longwave::gpu
