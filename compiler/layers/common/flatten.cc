// flatten: no op. From here on (frequency, channel) is one list of features with index f·channels +
// c.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_flatten(Lowering &lowering, const Layer &, std::span<const Flow> inputs) {
    return Flow{inputs[0].value, lowering.type(inputs[0]).dims.size() == 1 ? Form::features : Form::flat};
}

} // namespace longwave::compiler::layers
