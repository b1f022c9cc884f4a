#include "schedules/contract/panels.h"
#include <algorithm>
#include <cmath>

namespace longwave::schedules {

namespace {

double largest_of(std::span<const double> weights) {
    double largest = 0;
    for (const double weight : weights) largest = std::max(largest, std::fabs(weight));
    return largest;
}

} // namespace

PackedPanels::PackedPanels(const Panels &of)
    : panels(of), words(of.size(), of.format == WeightFormat::int4 ? 0x88888888u : 0u), scales(of.scales()) {}

void PackedPanels::set(uint32_t o, uint32_t half, std::span<const double> row,
                       std::span<const uint32_t> inputs) {
    // A scale for all of the row, or for each group of it.
    const size_t together =
        panels.format == WeightFormat::int4 ? int4_group : std::max<size_t>(row.size(), 1);
    for (size_t first = 0; first < row.size(); first += together) {
        const std::span part = row.subspan(first, std::min(together, row.size() - first));
        float scale = 0;
        if (!scales.empty()) {
            scale = panels.format == WeightFormat::int4 ? int4_scale(largest_of(part))
                                                        : int8_scale(largest_of(part));
            scales[panels.scale_at(o, half, static_cast<uint32_t>(first / together))] = scale;
        }
        for (size_t n = 0; n < part.size(); n++) {
            const uint32_t input = inputs[first + n], shift = panels.shift(input);
            uint32_t &word = words[panels.at(o, half, input)];
            const uint32_t bits = stored_bits(panels.format, part[n], scale);
            if (panels.format == WeightFormat::int4) word &= ~(15u << shift);
            word |= bits << shift;
        }
    }
}

} // namespace longwave::schedules
