// The right-angle transform by its definition in float64 (schedules/contract/twiddles.h), level by
// level: what spectra of tests and benches are made by.
#pragma once
#include "schedules/contract/twiddles.h"
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace longwave::test {

using Points = std::vector<std::complex<double>>;

// X mod (z^L − i) of L points, in block order, without the factor 1/L. `x`: a length with radices.
inline Points right_angle_spectrum(Points x) {
    const auto radices = schedules::right_angle_radices(static_cast<uint32_t>(x.size()));
    size_t blocks = 1, size = x.size();
    for (size_t level = 0; level < radices.size(); level++) {
        const auto radix = static_cast<size_t>(radices[level]), apart = size / radix;
        Points next(x.size());
        for (size_t q = 0; q < blocks; q++) {
            const double phase =
                schedules::phase(radices, 0.25, static_cast<int>(level), static_cast<int64_t>(q));
            for (size_t j = 0; j < radix; j++)
                for (size_t m = 0; m < radix; m++) {
                    const double turns =
                        (phase + static_cast<double>(j)) * static_cast<double>(m) / radices[level];
                    const auto root = std::polar(1.0, 2 * std::numbers::pi * turns);
                    for (size_t n = 0; n < apart; n++)
                        next[q * size + j * apart + n] += x[q * size + m * apart + n] * root;
                }
        }
        x = std::move(next);
        blocks *= radix, size = apart;
    }
    return x;
}

} // namespace longwave::test
