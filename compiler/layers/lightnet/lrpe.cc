// lrpe: rotates queries or keys by their positions, with the op of that name, which doubles their
// width.
#include "compiler/layers/layers.h"
#include "compiler/layers/lightnet/positions.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_lrpe(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    const uint32_t heads = integer(layer, "heads");
    if (width % heads)
        return lowering.failure(layer, "heads", "a divisor of the " + std::to_string(width) + " features",
                                std::to_string(heads));
    LW_ASSIGN(const Positions positions, read_positions(lowering, layer));
    const ir::ValueId theta = turning_rates(lowering, layer, "theta", 0, heads, width, positions);
    return turn(lowering, layer, inputs[0].value, theta, heads, positions);
}

} // namespace longwave::compiler::layers
