#include "compiler/ops/filter.h"
#include <algorithm>

namespace longwave::ir {

bool Filter::biased() const {
    return std::any_of(bias.begin(), bias.end(), [](double b) { return b != 0; });
}

Filter Filter::identity(uint32_t channels) {
    Filter filter;
    filter.taps.assign(channels, {1.0});
    filter.bias.assign(channels, 0.0);
    filter.gain.assign(channels, 1.0);
    return filter;
}

void Filter::multiply(const std::vector<double> &scale, const std::vector<double> &shift) {
    for (size_t h = 0; h < channels(); ++h) {
        const double s = scale[h % scale.size()];
        for (double &tap : taps[h]) tap *= s;
        gain[h] *= s;
        bias[h] = bias[h] * s + shift[h % shift.size()];
    }
}

bool Filter::add(const Filter &other) {
    if (prepared && other.prepared) return false;
    if (prepared && other.known_taps() > prepared_taps) return false;
    if (other.prepared && known_taps() > other.prepared_taps) return false;
    if (other.prepared) {
        prepared = other.prepared;
        prepared_taps = other.prepared_taps;
        gain = other.gain;
    }
    for (size_t h = 0; h < channels(); ++h) {
        if (taps[h].size() < other.taps[h].size()) taps[h].resize(other.taps[h].size());
        for (size_t j = 0; j < other.taps[h].size(); ++j) taps[h][j] += other.taps[h][j];
        bias[h] += other.bias[h];
    }
    scattered |= other.scattered;
    return true;
}

} // namespace longwave::ir
