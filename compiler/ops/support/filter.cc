#include "compiler/ops/support/filter.h"
#include <algorithm>

namespace longwave::ir {

namespace {

void add_taps(std::vector<double> &to, const std::vector<double> &from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t j = 0; j < from.size(); ++j) to[j] += from[j];
}

bool has_room(const Filter &prepared, const Filter &known) {
    return std::max(known.known_taps(), known.known_ahead()) <= prepared.prepared_taps &&
           (prepared.two_sided || !known.two_sided);
}

} // namespace

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

} // namespace longwave::ir
