#include "schedules/contract/panels.h"
#include <algorithm>
#include <cmath>

namespace longwave::schedules {

PackedPanels::PackedPanels(const Panels &of)
    : panels(of), words(of.size()),
      scales(of.format == WeightFormat::int8 ? size_t{pad(of.out)} * of.halves : 0) {}

void PackedPanels::set(uint32_t o, uint32_t half, std::span<const double> row,
                       std::span<const uint32_t> inputs) {
    float scale = 0;
    if (!scales.empty()) {
        double largest = 0;
        for (const double weight : row) largest = std::max(largest, std::fabs(weight));
        scale = scales[size_t{half} * pad(panels.out) + o] = int8_scale(largest);
    }
    for (size_t n = 0; n < row.size(); n++)
        words[panels.at(o, half, inputs[n])] |= stored_bits(panels.format, row[n], scale)
                                                << panels.shift(inputs[n]);
}

} // namespace longwave::schedules
