// float16 (IEEE 754 binary16) for whoever computes what storing it does: 11 bits of precision, unit
// roundoff 2^-11.
#pragma once
#include <cmath>
#include <limits>

namespace longwave {

inline constexpr double most_half = 65504;

// The float16 nearest to a number, ties to even; infinite where it is beyond the largest.
inline double to_half(double value) {
    constexpr int bits = 11,
                  least_exponent = -13; // of frexp, whose fraction is in [0.5, 1): 2^-14 is the least normal
    if (!std::isfinite(value) || value == 0) return value;
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const int unit = (exponent < least_exponent ? least_exponent : exponent) - bits;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
    if (std::fabs(rounded) <= most_half) return rounded;
    return std::copysign(std::numeric_limits<double>::infinity(), value);
}

} // namespace longwave
