// Positions along the axes of an image whose rows come line by line: "8x11" has 8 lines of 11.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/step.h"
#include "formats/base/expected.h"
#include <string>
#include <vector>

namespace longwave::ir {

class KernelCall; // kernel_call.h

inline constexpr size_t most_axes = 3;

// Sizes of the axes, slowest first. An empty text has no axes: a sequence without end.
Expected<std::vector<uint32_t>> axes_of(const std::string &shape);

// Rows from one position of an axis to the next.
uint32_t stride_of(const std::vector<uint32_t> &axes, size_t axis);

// The constant input 1, angles in units of 2^-64 turns, as the weights `theta.high` and `theta.low`
// of these dims: the upper and the lower half of each angle. A position times such an angle is
// exact to 2^-65 turns per row.
struct Theta {
    compiler::Place high, low;
    Theta(KernelCall &call, const std::vector<uint32_t> &dims);
};

} // namespace longwave::ir
