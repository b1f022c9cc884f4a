#include "tools/cli/check/statistics.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {

std::pair<double, double> proportion_interval(uint64_t hits, uint64_t n) {
    if (n == 0) return {0, 1};
    constexpr double z = 1.959963984540054;
    const double count = static_cast<double>(n), p = static_cast<double>(hits) / count,
                 shrink = 1 + z * z / count;
    const double middle = (p + z * z / (2 * count)) / shrink;
    const double half = z / shrink * std::sqrt(p * (1 - p) / count + z * z / (4 * count * count));
    return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

// P(X <= k) of a Poisson variable, summed from the largest term down in logarithms.
static double at_most(uint64_t k, double mean) {
    if (mean <= 0) return 1;
    double sum = 0;
    for (uint64_t i = 0; i <= k; i++)
        sum += std::exp(static_cast<double>(i) * std::log(mean) - mean -
                        std::lgamma(static_cast<double>(i) + 1));
    return std::min(1.0, sum);
}

// The mean at which P(X <= k) has fallen to p.
static double mean_where(uint64_t k, double p) {
    double low = 0, high = 10 + 3 * static_cast<double>(k);
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        (at_most(k, middle) > p ? low : high) = middle;
    }
    return low;
}

std::pair<double, double> count_interval(uint64_t count) {
    return {count == 0 ? 0 : mean_where(count - 1, 0.975), mean_where(count, 0.025)};
}

double count_bound(uint64_t count) { return mean_where(count, 0.05); }

} // namespace longwave::cli
