// linear_attention: projections to queries, keys and values, then the op of that name: o_t =
// q_t·Σ_{τ ≤ t} k_τ v_τᵀ per head.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {

Expected<Flow> lower_linear_attention(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    const uint32_t in = lowering.width(inputs[0]), heads = integer(layer, "heads");
    const bool bias = flag(layer, "bias");
    const auto width = [&](const char *attribute) {
        return given(layer, attribute) ? integer(layer, attribute) : in;
    };
    const uint32_t key_width = width("key_width"), value_width = width("value_width");
    std::vector<ir::ValueId> projected;
    for (const auto &[name, out] :
         {std::pair("q_proj", key_width), std::pair("k_proj", key_width), std::pair("v_proj", value_width)}) {
        LW_ASSIGN(const Flow flow, lowering.product(layer, name, inputs[0], out, bias));
        projected.push_back(flow.value);
    }
    for (const auto &[name, out] : {std::pair("key_width", key_width), std::pair("value_width", value_width)})
        if (out % heads)
            return lowering.failure(layer, name, "a multiple of the " + std::to_string(heads) + " heads",
                                    std::to_string(out));
    return lowering.node(layer, "linear_attention", std::move(projected), {{"heads", int64_t{heads}}},
                         Form::features);
}

} // namespace longwave::compiler::layers
