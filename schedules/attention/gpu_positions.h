// The angle of a row's position, without integers of 64 bits, which few GPUs have.
#pragma once
#include "schedules/halide/count_words.h"

namespace longwave::schedules {

// As phase_of of phases.h: bits 32 to 63 of the product of two numbers of 64 bits.
inline Halide::Expr phase_of(const WordPair &position, const Halide::Expr &high, const Halide::Expr &low) {
    using namespace Halide;
    const auto half = [](const Expr &x, int which) { return which ? x >> 16 : x & cast<uint32_t>(0xffff); };
    const Expr angle_high = cast<uint32_t>(high), angle_low = cast<uint32_t>(low);
    const Expr a0 = half(position.low, 0), a1 = half(position.low, 1), b0 = half(angle_low, 0),
               b1 = half(angle_low, 1);
    const Expr middle = a1 * b0 + (a0 * b0 >> 16), other = a0 * b1 + half(middle, 0);
    const Expr upper = a1 * b1 + (middle >> 16) + (other >> 16); // of the product of the low words
    return cast<int32_t>(upper + position.low * angle_high + position.high * angle_low);
}

} // namespace longwave::schedules
