// Positions along the axes of an image whose rows come line by line: "8x11" has 8 lines of 11.
#pragma once
#include "compiler/ir/graph.h"
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::ir {

inline constexpr size_t most_axes = 3;

// Sizes of the axes, slowest first. An empty text has no axes: a sequence without end.
Expected<std::vector<uint32_t>> axes_of(const std::string &shape);

// Rows from one position of an axis to the next.
uint32_t stride_of(const std::vector<uint32_t> &axes, size_t axis);

// Angles in units of 2^-64 turns: the upper half of each (shift 32) or the lower half (0). A
// position times such an angle is exact to 2^-65 turns per row.
std::vector<int32_t> turn_words(const Numbers &angles, unsigned shift);

} // namespace longwave::ir
