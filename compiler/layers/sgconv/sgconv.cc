// sgconv: sgconv_kernel (the taps from the multi-scale parameters) -> long_conv (with D) ->
// activation -> extra norm -> linear -> glu or activation; options leave out the last four.
// Parameter names are those of the official state dict.
#include "compiler/layers/layers.h"
#include "compiler/layers/sgconv/multi_scale_taps.h"

namespace longwave::compiler::layers {
namespace {

// The flavour of the extra norm follows from its keys: weight and bias, or m and s.
Expected<Flow> extra_norm(Lowering &lowering, const Layer &layer, Flow x) {
    const bool scalars = lowering.find(layer, "norm.norm.m") || lowering.find(layer, "norm.norm.s");
    const bool vectors = lowering.find(layer, "norm.norm.weight") || lowering.find(layer, "norm.norm.bias");
    if (scalars && vectors) {
        lowering.problem(layer, "layer_norm",
                         "either norm.norm.weight and norm.norm.bias, or norm.norm.m and norm.norm.s",
                         "some of both in the weights");
    }
    if (scalars) {
        const ir::ValueId m = lowering.weight(layer, "norm.norm.m", {1}, {{1}, {}}),
                          s = lowering.weight(layer, "norm.norm.s", {1}, {{1}, {}});
        return lowering.node(layer, "transposed_layer_norm", {x.value, m, s}, {}, x.form);
    }
    const uint32_t width = lowering.width(x);
    const ir::ValueId weight = lowering.weight(layer, "norm.norm.weight", {width}),
                      bias = lowering.weight(layer, "norm.norm.bias", {width});
    return lowering.node(layer, "layer_norm", {x.value, weight, bias}, {{"eps", 1e-5}}, x.form);
}

// The op an option names; nothing for "identity".
Expected<Flow> activation(Lowering &lowering, const Layer &layer, const char *option, Flow x) {
    const std::string op = layer.attributes.at(option);
    return op == "identity" ? Expected<Flow>(x) : lowering.node(layer, op, {x.value}, {}, x.form);
}

} // namespace

Expected<Flow> lower_sgconv(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t heads, feature_width(lowering, layer, inputs[0]));
    const uint32_t copies = integer(layer, "channels");
    LW_ASSIGN(const Flow k,
              multi_scale_taps(lowering, layer, copies * (flag(layer, "bidirectional") ? 2 : 1), heads));
    const ir::ValueId d = lowering.weight(layer, "D", {copies, heads});
    LW_ASSIGN(Flow y, lowering.node(layer, "long_conv", {inputs[0].value, k.value, d},
                                    {{"channels", int64_t{copies}},
                                     {"two_sided", int64_t{flag(layer, "bidirectional")}}},
                                    copies > 1 && heads > 1 ? Form::flat : Form::features));
    if (flag(layer, "linear")) return y;

    LW_ASSIGN(y, activation(lowering, layer, "activation", y));
    if (flag(layer, "layer_norm")) {
        LW_ASSIGN(y, extra_norm(lowering, layer, y));
    }
    const bool activated = !layer.attributes.at("postact").is_null(),
               gated = layer.attributes.at("postact") == "glu";
    LW_ASSIGN(y, lowering.product(layer, activated ? "output_linear.0" : "output_linear", y,
                                  gated ? 2 * heads : heads, true));
    return activated ? activation(lowering, layer, "postact", y) : Expected<Flow>(y);
}

} // namespace longwave::compiler::layers
