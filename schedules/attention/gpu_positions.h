// Where a row stands, without integers of 64 bits, which few GPUs have: counts of rows are float64, exact
// up to 2^53.
#pragma once
#include "schedules/halide/internals.h"

namespace longwave::schedules {

// A whole number of at most 2^53 in two words.
struct RowWords {
    Halide::Expr high, low; // uint32
};
inline RowWords words_of(const Halide::Expr &count) {
    using namespace Halide;
    const Expr high = cast<uint32_t>(count * constant(0x1p-32));
    return {high, cast<uint32_t>(count - cast<double>(high) * constant(0x1p32))};
}
// The same, `rows` further on.
inline RowWords moved_on(const RowWords &number, const Halide::Expr &rows) {
    const Halide::Expr low = number.low + Halide::cast<uint32_t>(rows);
    return {number.high +
                Halide::select(low < number.low, Halide::cast<uint32_t>(1), Halide::cast<uint32_t>(0)),
            low};
}

// As phase_of of phases.h: bits 32 to 63 of the product of two numbers of 64 bits.
inline Halide::Expr phase_of(const RowWords &position, const Halide::Expr &high, const Halide::Expr &low) {
    using namespace Halide;
    const auto half = [](const Expr &x, int which) { return which ? x >> 16 : x & cast<uint32_t>(0xffff); };
    const Expr angle_high = cast<uint32_t>(high), angle_low = cast<uint32_t>(low);
    const Expr a0 = half(position.low, 0), a1 = half(position.low, 1), b0 = half(angle_low, 0),
               b1 = half(angle_low, 1);
    const Expr middle = a1 * b0 + (a0 * b0 >> 16), other = a0 * b1 + half(middle, 0);
    const Expr upper = a1 * b1 + (middle >> 16) + (other >> 16); // of the product of the low words
    return cast<int32_t>(upper + position.low * angle_high + position.high * angle_low);
}

// A whole number from 0 to 2^53 modulo `period` ≤ 2^24, in two steps, whose quotients are off by one at most.
inline Halide::Expr rows_modulo(const Halide::Expr &count, int period) {
    using namespace Halide;
    const auto number = [](double value) { return constant(value); };
    const double large = period * 0x1p22;
    const auto step = [&](const Expr &n, double divisor) {
        const Expr rest = n - cast<double>(cast<int32_t>(n * number(1 / divisor))) * number(divisor);
        const Expr least = select(rest < number(0), rest + number(divisor), rest);
        return select(least >= number(divisor), least - number(divisor), least);
    };
    return cast<int32_t>(step(step(count, large), period));
}

} // namespace longwave::schedules
