// How the weights of a product lie in memory: in panels of 16 outputs, [panel][input][output of the panel],
// so that a kernel walks over each panel from end to end whatever its register tile and its number of rows
// are. One layout for all targets and block sizes: the compiler stores a matrix once. No Halide.
#pragma once
#include "schedules/kernel.h"
#include <cstdint>

namespace longwave::schedules {

// With gates behind the values, each panel of values is followed by that of their gates.
struct Panels {
    uint32_t in = 1, out = 1, halves = 1;

    uint32_t width() const { return out == 1 ? 1 : lanes; }          // outputs of a panel
    uint32_t count() const { return (out + width() - 1) / width(); } // panels of each half
    // Elements from one panel to the next. Not a whole number of pages: panels that are read side by side
    // would meet in the same sets of the caches.
    uint64_t stride() const {
        const uint64_t elements = uint64_t{in} * width();
        return elements % 1024 == 0 ? elements + lanes : elements;
    }
    uint64_t size() const { return (uint64_t{count()} * halves - 1) * stride() + uint64_t{in} * width(); }
    uint64_t at(uint32_t o, uint32_t half, uint32_t i) const {
        return (uint64_t{o / width()} * halves + half) * stride() + uint64_t{i} * width() + o % width();
    }
};

} // namespace longwave::schedules
