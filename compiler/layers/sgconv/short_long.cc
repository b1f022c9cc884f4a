// short_long: parallel short branches and a long convolution per feature. They are in series with
// SiLU between them (CHELA, Eq. 8), in series without it, or in parallel: branches -> silu ->
// long_conv. The long kernel is given as taps or as the parameters of sgconv.
#include "compiler/layers/sgconv/short_long.h"
#include "compiler/layers/layers.h"
#include "compiler/layers/sgconv/multi_scale_taps.h"

namespace longwave::compiler::layers {
namespace {

// k0 of lags 0 …, and for two sides k1 of lags −1 …, each (H, K), as one constant [1 or 2, H, K].
Expected<Flow> given_taps(Lowering &lowering, const Layer &part, uint32_t width, bool two_sided) {
    const package::Tensor *k0 = lowering.find(part, "k0");
    if (!k0 || k0->shape.size() != 2 || k0->shape[1] == 0 || k0->shape[1] > (1u << 28))
        return lowering.failure(
            part, "", "tensor " + package::in_quotes(part.key("k0")) + " of shape (features, taps)",
            k0 ? "another shape" : "no such tensor", "or \"long\": \"sgconv\" for multi-scale parameters");
    const auto taps = static_cast<uint32_t>(k0->shape[1]);
    std::vector<double> k = lowering.numbers(part, "k0", {width, taps});
    if (two_sided) {
        const std::vector<double> k1 = lowering.numbers(part, "k1", {width, taps});
        k.insert(k.end(), k1.begin(), k1.end());
    }
    const uint32_t rows = two_sided ? 2 : 1;
    if (k.size() != size_t{rows} * width * taps) k.clear(); // reported
    return Flow{lowering.constant(part.key("k0") + ".sides", {rows, width, taps}, std::move(k)),
                Form::features};
}

Expected<Flow> long_convolution(Lowering &lowering, const Layer &layer, Flow x, uint32_t width) {
    const Layer part = part_of(layer, "long", "sgconv", layer.attributes);
    const bool two_sided = !flag(layer, "causal"), multi_scale = layer.attributes.at("long") == "sgconv";
    if (multi_scale)
        for (const char *needed : {"kernel_dim", "l_max"})
            if (!layer.attributes.contains(needed))
                return lowering.failure(layer, needed, "this key (\"long\": \"sgconv\" needs it)",
                                        "no such key");
    LW_ASSIGN(const Flow k, multi_scale ? multi_scale_taps(lowering, part, two_sided ? 2 : 1, width)
                                        : given_taps(lowering, part, width, two_sided));
    const ir::ValueId d = flag(layer, "long_d")
                              ? lowering.weight(part, "D", {1, width}, {{width}, {1, width}})
                              : lowering.constant("no D", {1, width}, std::vector<double>(width));
    return lowering.node(part, "long_conv", {x.value, k.value, d},
                         {{"channels", int64_t{1}}, {"two_sided", int64_t{two_sided}}}, Form::features);
}

} // namespace

Expected<Flow> short_long(Lowering &lowering, const Layer &layer, Flow x) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, x));
    const Layer branches = part_of(
        layer, "short", "branches",
        {{"branches", layer.attributes.at("short_branches")}, {"causal", layer.attributes.at("causal")}});
    LW_ASSIGN(Flow y, lower_branches(lowering, branches, one(x)));
    const std::string mode = layer.attributes.at("short_mode");
    if (mode == "parallel") {
        LW_ASSIGN(const Flow z, long_convolution(lowering, layer, x, width));
        return lowering.node(layer, "add", {y.value, z.value}, {}, Form::features);
    }
    if (mode == "serial_silu") {
        LW_ASSIGN(y, lowering.node(branches, "silu", {y.value}, {}, Form::features));
    }
    return long_convolution(lowering, layer, y, width);
}

Expected<Flow> lower_short_long(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    return short_long(lowering, layer, inputs[0]);
}

} // namespace longwave::compiler::layers
