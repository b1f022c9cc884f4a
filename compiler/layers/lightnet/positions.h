// Shared by layers that encode positions: LRPE of queries and keys, and decaying sums along axes.
#pragma once
#include "compiler/layers/lowering.h"

namespace longwave::compiler::layers {

// The options `shape`, `conditions` and `theta_layout` of a layer, read once.
struct Positions {
    std::string shape; // "8x11"; empty: a sequence
    uint32_t conditions = 0;
    std::vector<uint32_t> axes; // sizes, slowest first
};
Expected<Positions> read_positions(const Lowering &lowering, const Layer &layer);

// Θ of every feature of a row: the tensor `parameter` or, where the package has none and `base` is
// not 0, base^(-2i/d) in float32 as the published code stores it.
ir::ValueId rotation_rates(Lowering &lowering, const Layer &layer, const std::string &parameter, double base,
                           uint32_t heads, uint32_t width, const Positions &positions);

Expected<Flow> rotate(Lowering &lowering, const Layer &layer, ir::ValueId x, ir::ValueId theta,
                      uint32_t heads, const Positions &positions);

// Decaying sums along one axis.
Expected<Flow> scan(Lowering &lowering, const Layer &layer, Flow x, ir::ValueId lambda, ir::ValueId c,
                    const Positions &positions, size_t axis);

} // namespace longwave::compiler::layers
