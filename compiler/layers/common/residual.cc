// residual: x + f(norm(x)), or norm(x + f(x)) if `prenorm` is false. f is the chain of inner
// layers.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_residual(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const Flow x = inputs[0];
    const bool prenorm = flag(layer, "prenorm");
    const Flow inside =
        lowering.chain(layer.layers, prenorm && layer.norm ? lowering.layer(*layer.norm, x) : x);
    const ir::Type before = lowering.type(x), after = lowering.type(inside);
    if (before.dims != after.dims || before.clock != after.clock || before.elem != after.elem) {
        auto text = [](const ir::Type &type) {
            return "rows of " + package::shape_text(type.dims) + " at rate " +
                   std::to_string(type.clock.num) + "/" + std::to_string(type.clock.den);
        };
        return lowering.failure(layer, "layers", text(before) + ", as the residual was given", text(after),
                                "what is added must have the shape of what comes in");
    }
    LW_ASSIGN(Flow sum, lowering.node(layer, "add", {x.value, inside.value}, {}, x.form));
    return !prenorm && layer.norm ? lowering.layer(*layer.norm, sum) : sum;
}

} // namespace longwave::compiler::layers
