// Numbers for tests: reproducible ones to put in, and how far what came out is from a float64
// reference.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>

namespace longwave::test {

// Uniform in ±scale. The generator's bits are fixed by the standard, those of its distributions are
// not.
inline std::vector<float> random_numbers(size_t n, uint32_t seed, double scale = 1) {
    std::mt19937 random(seed);
    std::vector<float> values(n);
    for (float &value : values)
        value = static_cast<float>(scale * (static_cast<double>(random()) / 2147483648.0 - 1));
    return values;
}

// The largest difference, relative to the peak of what is expected; infinite where something is no
// number.
template <class Found, class Expected> double distance(const Found &found, const Expected &expected) {
    REQUIRE(found.size() == expected.size());
    double peak = 0, error = 0;
    for (size_t i = 0; i < found.size(); i++) {
        peak = std::max(peak, std::fabs(static_cast<double>(expected[i])));
        const double apart = std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
        error = std::isfinite(apart) ? std::max(error, apart) : INFINITY;
    }
    return error / peak;
}

} // namespace longwave::test
