#include "compiler/ops/support/filter.h"
#include "compiler/ir/op.h"
#include "compiler/ops/support/sums.h"
#include "compiler/ops/transforms/transforms.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace longwave::ir {

namespace {

constexpr uint64_t most_sums = uint64_t{1} << 23;

// By the definition, from the input's side: row s reaches rows s, s+1, … through k0 and rows s−1,
// s−2, … through k1. Zero rows cost nothing.
std::vector<double> summed(const std::vector<double> &x, const std::vector<double> &k0,
                           const std::vector<double> &k1) {
    std::vector<double> y(x.size());
    for (size_t s = 0; s < x.size(); ++s) {
        if (x[s] == 0) continue;
        add_scaled(k0.data(), x[s], std::min(k0.size(), x.size() - s), y.data() + s);
        for (size_t j = 0; j < k1.size() && j < s; ++j) y[s - 1 - j] += k1[j] * x[s];
    }
    return y;
}

double length_of(const std::vector<double> &x) {
    double sum = 0;
    for (double value : x) sum += value * value;
    return std::sqrt(sum);
}

// The same by transforms on a circle of at least twice the rows, lags below 0 at its end: within
// 1e-14 of the peak, for sequences whose sums would take minutes. Rows are the real part, taps of
// the same size the imaginary one: their spectra are the symmetric halves of one.
std::vector<double> transformed(const std::vector<double> &x, const std::vector<double> &k0,
                                const std::vector<double> &k1) {
    using namespace std::complex_literals;
    const size_t rows = x.size(), circle = std::bit_ceil(2 * rows);
    const double taps = std::hypot(length_of(k0), length_of(k1)), size = length_of(x);
    if (taps == 0 || size == 0) return std::vector<double>(rows);
    const double scale = size / taps;
    std::vector<std::complex<double>> both(x.begin(), x.end());
    both.resize(circle);
    for (size_t j = 0; j < std::min(k0.size(), rows); ++j) both[j] += 1i * (scale * k0[j]);
    for (size_t j = 0; j < k1.size() && j + 1 < rows; ++j) both[circle - 1 - j] += 1i * (scale * k1[j]);
    both = fourier_sums(both, -1);
    std::vector<std::complex<double>> product(circle);
    for (size_t f = 0; f < circle; ++f) {
        const auto here = both[f], mirrored = std::conj(both[(circle - f) % circle]);
        product[f] = (here + mirrored) * (here - mirrored) / 4i;
    }
    product = fourier_sums(product, 1);
    std::vector<double> y(rows);
    for (size_t t = 0; t < rows; ++t) y[t] = product[t].real() / (scale * static_cast<double>(circle));
    return y;
}

void add_taps(std::vector<double> &to, const std::vector<double> &from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t j = 0; j < from.size(); ++j) to[j] += from[j];
}

bool has_room(const Filter &prepared, const Filter &known) {
    return std::max(known.known_taps(), known.known_ahead()) <= prepared.prepared_taps &&
           (prepared.two_sided || !known.two_sided);
}

} // namespace

std::vector<double> filtered(const std::vector<double> &x, const std::vector<double> &taps,
                             const std::vector<double> &ahead) {
    const bool many = x.size() * std::min(x.size(), std::max(taps.size(), ahead.size())) > most_sums;
    return many ? transformed(x, taps, ahead) : summed(x, taps, ahead);
}

size_t Filter::longest() const { return prepared ? prepared_taps : std::max(known_taps(), known_ahead()); }

bool Filter::biased() const {
    return std::any_of(bias.begin(), bias.end(), [](double b) { return b != 0; });
}

Filter Filter::identity(uint32_t heads, uint32_t copies) {
    const size_t rows = size_t{heads} * copies;
    Filter filter;
    filter.heads = heads;
    filter.taps.assign(rows, {1.0});
    filter.ahead.assign(rows, {});
    filter.bias.assign(rows, 0.0);
    filter.gain.assign(rows, 1.0);
    return filter;
}

void Filter::multiply(const std::vector<double> &scale, const std::vector<double> &shift) {
    for (size_t n = 0; n < rows(); ++n) {
        const double s = scale[n % scale.size()];
        for (auto *side : {&taps[n], &ahead[n]})
            for (double &tap : *side) tap *= s;
        gain[n] *= s;
        bias[n] = bias[n] * s + shift[n % shift.size()];
    }
}

bool Filter::add(const Filter &other) {
    if (heads != other.heads || rows() != other.rows() || (prepared && other.prepared)) return false;
    if (prepared && !has_room(*this, other)) return false;
    if (other.prepared && !has_room(other, *this)) return false;
    if (other.prepared) {
        prepared = other.prepared;
        prepared_taps = other.prepared_taps;
        gain = other.gain;
    }
    for (size_t n = 0; n < rows(); ++n) {
        add_taps(taps[n], other.taps[n]);
        add_taps(ahead[n], other.ahead[n]);
        bias[n] += other.bias[n];
    }
    two_sided |= other.two_sided;
    scattered |= other.scattered;
    may_wait &= other.may_wait;
    return true;
}

std::optional<Filter> Filter::after(const Filter &first) const {
    if (two_sided || first.two_sided || prepared || first.prepared || first.biased()) return {};
    if (first.copies() != 1 || first.heads != heads) return {};
    Filter both = *this;
    for (size_t n = 0; n < rows(); ++n) {
        const std::vector<double> &g = first.taps[n % heads], &k = taps[n];
        both.taps[n].assign(g.size() + k.size() - 1, 0.0);
        for (size_t i = 0; i < g.size(); ++i)
            for (size_t j = 0; j < k.size(); ++j) both.taps[n][i + j] += g[i] * k[j];
    }
    return both;
}

const OpDef &op_of_any_filter() {
    const auto ops = all_ops();
    return **std::find_if(ops.begin(), ops.end(),
                          [](const OpDef *op) { return op->rewrites.filter && op->rewrites.filter->any; });
}

} // namespace longwave::ir
