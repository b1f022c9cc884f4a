#include "compiler/ops/linear/fourier_matrix.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace longwave::ir {

namespace {

constexpr uint32_t least = 64, most = 4096; // n_fft of the kernels, a power of two
constexpr uint32_t fewest_outputs = 32;     // a transform takes about as long as so many sums
// The numbers are float32, and perhaps a program computed them in it.
constexpr double tolerance = 1.0 / (1 << 22);

struct Roots {
    explicit Roots(uint32_t n) : cosine(n), sine(n) {
        for (uint32_t i = 0; i < n; ++i) {
            const double angle = 2 * std::numbers::pi * i / n;
            cosine[i] = std::cos(angle), sine[i] = std::sin(angle);
        }
    }
    std::vector<double> cosine, sine;
};

bool near(double a, double b, double largest) {
    return std::abs(a - b) <= tolerance * largest;
} // never of NaN

bool is_part(const std::vector<double> &row, const Roots &roots, size_t bin, bool imaginary) {
    for (size_t i = 0; i < row.size(); ++i) {
        const size_t turn = bin * i % roots.cosine.size();
        if (!near(row[i], imaginary ? -roots.sine[turn] : roots.cosine[turn], 1)) return false;
    }
    return true;
}

// The number of the spectrum that these weights of the samples give; -1: none. The second weight tells the
// bin, or for imaginary parts two bins.
int32_t part_of(const std::vector<double> &row, const Roots &roots) {
    const size_t bins = roots.cosine.size() / 2 + 1;
    const bool imaginary = near(row[0], 0, 1);
    const double per_turn = static_cast<double>(roots.cosine.size()) / (2 * std::numbers::pi),
                 second = std::clamp(row[1], -1.0, 1.0);
    if (std::isnan(second)) return -1;
    const auto bin = static_cast<size_t>(
        std::lround(per_turn * (imaginary ? std::asin(std::max(-second, 0.0)) : std::acos(second))));
    for (const size_t candidate : {bin, bins - 1 - bin})
        if (candidate < bins && is_part(row, roots, candidate, imaginary))
            return static_cast<int32_t>(candidate + (imaginary ? bins : 0));
    return -1;
}

std::optional<FourierMatrix> forward(const Numbers &matrix, uint32_t outputs, uint32_t inputs) {
    FourierMatrix found{.n_fft = std::bit_ceil(std::max(inputs, least)), .which = {}, .scale = {}};
    if (found.n_fft > most || outputs > found.n_fft + 2 || outputs < fewest_outputs) return std::nullopt;
    const Roots roots(found.n_fft);
    std::vector<double> row(inputs);
    std::vector<bool> taken(found.n_fft + 2);
    for (uint32_t o = 0; o < outputs; ++o) {
        matrix.read(size_t{o} * inputs, row);
        int32_t part = part_of(row, roots);
        // The imaginary parts of the first and the last bin are both zero. Other rows that repeat make
        // another kind of matrix.
        const auto zero = static_cast<int32_t>(found.n_fft / 2 + 1);
        if (part == zero && taken[static_cast<size_t>(zero)]) part = static_cast<int32_t>(found.n_fft + 1);
        if (part < 0 || taken[static_cast<size_t>(part)]) return std::nullopt;
        taken[static_cast<size_t>(part)] = true;
        found.which.push_back(part);
    }
    return found;
}

// Row o is that of the inverse times a scale. A bin stands for its conjugate too, where that is another one.
std::optional<FourierMatrix> inverse(const Numbers &matrix, uint32_t outputs, uint32_t inputs) {
    if (inputs != outputs + 2 || outputs < least || outputs > most || !std::has_single_bit(outputs))
        return std::nullopt;
    FourierMatrix found{.n_fft = outputs, .which = {}, .scale = {}};
    const uint32_t bins = outputs / 2 + 1;
    const Roots roots(outputs);
    std::vector<double> row(inputs);
    for (uint32_t o = 0; o < outputs; ++o) {
        matrix.read(size_t{o} * inputs, row);
        const double scale = row[0];
        for (uint32_t bin = 0; bin < bins; ++bin) {
            const bool alone = bin == 0 || bin == bins - 1;
            const uint32_t turn = bin * o % outputs;
            if (!near(row[bin], (alone ? 1 : 2) * scale * roots.cosine[turn], 2 * std::abs(scale)) ||
                !near(row[bins + bin], alone ? 0 : -2 * scale * roots.sine[turn], 2 * std::abs(scale)))
                return std::nullopt;
        }
        found.scale.push_back(static_cast<float>(scale));
    }
    if (std::all_of(found.scale.begin(), found.scale.end(), [](float scale) { return scale == 0; }))
        return std::nullopt;
    return found;
}

} // namespace

std::optional<FourierMatrix> fourier_matrix(const Numbers &matrix, uint32_t outputs, uint32_t inputs) {
    if (inputs < 2) return std::nullopt;
    std::optional<FourierMatrix> found = forward(matrix, outputs, inputs);
    return found ? found : inverse(matrix, outputs, inputs);
}

} // namespace longwave::ir
