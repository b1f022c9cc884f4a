#include "compiler/ops/long_conv/multi_scale.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {

namespace {

// Linear interpolation at `at`, ends clamped.
double sample(const double *w, size_t n, double at) {
    at = std::max(0.0, at);
    const auto low = std::min(static_cast<size_t>(at), n - 1), high = std::min(low + 1, n - 1);
    const double f = at - static_cast<double>(low);
    return (1 - f) * w[low] + f * w[high];
}

} // namespace

KernelMode KernelMode::parse(const std::string &mode) {
    const auto says = [&](const char *word) { return mode.find(word) != std::string::npos; };
    // Both words: the published code asks for "sum" first.
    return {.cat = says("cat") && !says("sum"),
            .sum = says("sum"),
            .nearest = says("nearest"),
            .learnable = says("learnable"),
            .trunc = says("trunc"),
            .expand = says("expand")};
}

void add_scale(const MultiScale &scales, uint32_t i, const double *w, double gain, double *k, size_t taps) {
    const uint64_t s = scales.stretch(i), offset = scales.offset(i);
    const uint64_t end = std::min<uint64_t>(taps, offset + scales.kernel_dim * s);
    for (uint64_t p = offset; p < end; ++p) {
        const uint64_t m = p - offset;
        const double at = (static_cast<double>(m) + 0.5) / static_cast<double>(s) - 0.5; // half-pixel centres
        k[p] += gain * (scales.nearest ? w[m / s] : sample(w, scales.kernel_dim, at));
    }
}

std::vector<double> resize(const std::vector<double> &values, size_t size, bool nearest) {
    std::vector<double> out(size);
    const double ratio = static_cast<double>(values.size()) / static_cast<double>(size);
    for (size_t m = 0; m < size; ++m) {
        const double left = static_cast<double>(m) * ratio;
        out[m] = nearest ? values[std::min(static_cast<size_t>(left), values.size() - 1)]
                         : sample(values.data(), values.size(), left + 0.5 * ratio - 0.5);
    }
    return out;
}

std::vector<double> first_forward_norm(const MultiScale &scales, bool learnable,
                                       const std::vector<std::vector<double>> &lists,
                                       const std::vector<double> &growth, const std::vector<double> &decay) {
    const size_t heads = growth.size(), rows = lists[0].size() / scales.kernel_dim, taps = scales.taps();
    std::vector<double> norm(rows), k(taps);
    for (size_t r = 0; r < rows; ++r) {
        std::fill(k.begin(), k.end(), 0.0);
        for (uint32_t i = 0; i < scales.num_scales; ++i)
            add_scale(scales, i, &lists[i][r * scales.kernel_dim],
                      std::pow(growth[r % heads], scales.num_scales - 1 - i), k.data(), taps);
        double sum = 0;
        for (size_t p = 0; p < taps; ++p) {
            const double value =
                learnable ? k[p] * std::pow(static_cast<double>(p + 1), -decay[r % heads]) : k[p];
            sum += value * value;
        }
        norm[r] = std::sqrt(sum);
    }
    return norm;
}

} // namespace longwave::ir
