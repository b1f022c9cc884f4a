#include "compiler/ops/linear/fourier_matrix.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

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

// Which number of the spectrum weights of the samples give, if these are times a window.
class WindowedParts {
public:
    WindowedParts(uint32_t n_fft, std::vector<double> window)
        : roots_(n_fft), window_(std::move(window)), order_(window_.size()) {
        std::iota(order_.begin(), order_.end(), size_t{0});
        // Where the window is large, most bins differ from the right one.
        std::stable_sort(order_.begin(), order_.end(),
                         [this](size_t a, size_t b) { return std::abs(window_[a]) > std::abs(window_[b]); });
        largest_ = std::abs(window_[order_.front()]);
    }
    bool whole() const { return largest_ > 0 && std::isfinite(largest_); }

    // −1: none. The imaginary parts of the first and the last bin are both zero, and the answer is the first.
    int32_t number(const std::vector<double> &row) const {
        const size_t bins = roots_.cosine.size() / 2 + 1;
        for (size_t part = 0; part < 2 * bins; ++part)
            if (is(row, part % bins, part >= bins)) return static_cast<int32_t>(part);
        return -1;
    }

private:
    bool is(const std::vector<double> &row, size_t bin, bool imaginary) const {
        return std::all_of(order_.begin(), order_.end(), [&](size_t i) {
            const size_t power = bin * i % roots_.cosine.size();
            const double root = imaginary ? -roots_.sine[power] : roots_.cosine[power];
            return near(row[i], window_[i] * root, largest_);
        });
    }

    Roots roots_;
    std::vector<double> window_;
    std::vector<size_t> order_;
    double largest_;
};

std::vector<double> row_of(const Numbers &matrix, uint32_t row, uint32_t inputs) {
    std::vector<double> numbers(inputs);
    matrix.read(size_t{row} * inputs, numbers);
    return numbers;
}

// The weights of the first real part have the largest sum of squares, and so have those of the last one.
std::vector<std::vector<double>> possible_windows(const Numbers &matrix, uint32_t outputs, uint32_t inputs) {
    std::vector<double> squares;
    for (uint32_t o = 0; o < outputs; ++o) {
        const std::vector<double> row = row_of(matrix, o, inputs);
        squares.push_back(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    }
    std::vector<std::vector<double>> windows{std::vector<double>(inputs, 1.0)};
    const double largest = *std::max_element(squares.begin(), squares.end());
    for (uint32_t o = 0; o < outputs && windows.size() < 3; ++o)
        if (near(squares[o], largest, largest)) windows.push_back(row_of(matrix, o, inputs));
    return windows;
}

std::optional<FourierMatrix> with_window(const Numbers &matrix, uint32_t outputs, uint32_t n_fft,
                                         const std::vector<double> &window) {
    const auto inputs = static_cast<uint32_t>(window.size());
    const WindowedParts parts(n_fft, window);
    if (!parts.whole()) return std::nullopt;
    FourierMatrix found{.n_fft = n_fft, .which = {}, .window = {}, .scale = {}};
    std::vector<bool> taken(n_fft + 2);
    for (uint32_t o = 0; o < outputs; ++o) {
        int32_t part = parts.number(row_of(matrix, o, inputs));
        // Other rows than the two zeros that repeat make another kind of matrix.
        const auto zero = static_cast<int32_t>(n_fft / 2 + 1);
        if (part == zero && taken[static_cast<size_t>(zero)]) part = static_cast<int32_t>(n_fft + 1);
        if (part < 0 || taken[static_cast<size_t>(part)]) return std::nullopt;
        taken[static_cast<size_t>(part)] = true;
        found.which.push_back(part);
    }
    if (std::any_of(window.begin(), window.end(), [](double w) { return !near(w, 1, 1); }))
        found.window.assign(window.begin(), window.end());
    return found;
}

std::optional<FourierMatrix> forward(const Numbers &matrix, uint32_t outputs, uint32_t inputs) {
    const uint32_t n_fft = std::bit_ceil(std::max(inputs, least));
    if (n_fft > most || outputs > n_fft + 2 || outputs < fewest_outputs) return std::nullopt;
    for (const std::vector<double> &window : possible_windows(matrix, outputs, inputs))
        if (std::optional<FourierMatrix> found = with_window(matrix, outputs, n_fft, window)) return found;
    return std::nullopt;
}

// Row o is that of the inverse times a scale. A bin stands for its conjugate too, where that is another one.
std::optional<FourierMatrix> inverse(const Numbers &matrix, uint32_t outputs, uint32_t inputs) {
    if (inputs != outputs + 2 || outputs < least || outputs > most || !std::has_single_bit(outputs))
        return std::nullopt;
    FourierMatrix found{.n_fft = outputs, .which = {}, .window = {}, .scale = {}};
    const uint32_t bins = outputs / 2 + 1;
    const Roots roots(outputs);
    std::vector<double> row(inputs);
    for (uint32_t o = 0; o < outputs; ++o) {
        matrix.read(size_t{o} * inputs, row);
        const double scale = row[0];
        for (uint32_t bin = 0; bin < bins; ++bin) {
            const bool alone = bin == 0 || bin == bins - 1;
            const uint32_t power = bin * o % outputs;
            if (!near(row[bin], (alone ? 1 : 2) * scale * roots.cosine[power], 2 * std::abs(scale)) ||
                !near(row[bins + bin], alone ? 0 : -2 * scale * roots.sine[power], 2 * std::abs(scale)))
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
