#include "compiler/ops/support/transform_error.h"
#include <algorithm>
#include <cmath>
#include <random>

namespace longwave::ir {

void add_transform_error(Array &rows, uint32_t points, uint32_t seed) {
    const double share = 0.6 * std::ldexp(1.0, -24) * std::sqrt(std::log2(std::max(points, 2u)));
    const double widest = std::sqrt(3.0); // of a uniform distribution with deviation 1
    std::mt19937 random(seed);            // its bits are fixed by the standard
    for (size_t first = 0; first < rows.rows; first += points) {
        const size_t end = std::min<size_t>(rows.rows, first + points);
        for (size_t n = 0; n < rows.width; ++n) {
            double squares = 0;
            for (size_t t = first; t < end; ++t) squares += rows.row(t)[n] * rows.row(t)[n];
            const double deviation = share * std::sqrt(squares / static_cast<double>(end - first));
            for (size_t t = first; t < end; ++t)
                rows.row(t)[n] += deviation * widest * (std::ldexp(random(), -31) - 1);
        }
    }
}

} // namespace longwave::ir
