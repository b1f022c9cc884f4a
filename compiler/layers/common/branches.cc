// branches: a sum of depthwise convolutions and identities, each with or without batch norm.
// Convolutions are causal (conv2d over one frequency, one group per feature) or centred
// (centred_conv). A dilated branch becomes a longer kernel with zeros between its taps, which is
// the same function. A pass merges the branches.
#include "compiler/layers/layers.h"

namespace longwave::compiler::layers {
namespace {

constexpr uint32_t longest = 1 << 20; // taps of a branch after dilation

ir::ValueId branch_weight(Lowering &lowering, const Layer &layer, const std::string &parameter,
                          uint32_t width, uint32_t kernel, uint32_t dilation, uint32_t taps, bool causal) {
    const std::vector<uint32_t> shape =
        causal ? std::vector<uint32_t>{width, 1, taps, 1} : std::vector<uint32_t>{width, taps};
    if (dilation == 1) return lowering.weight(layer, parameter, shape, {{width, 1, kernel}});
    const std::vector<double> values = lowering.numbers(layer, parameter, {width, 1, kernel});
    std::vector<double> spread(values.empty() ? 0 : size_t{width} * taps);
    for (size_t i = 0; i < values.size(); ++i) spread[i / kernel * taps + i % kernel * dilation] = values[i];
    return lowering.constant(layer.key(parameter) + ".dilated", shape, std::move(spread));
}

Expected<Flow> branch(Lowering &lowering, const Layer &layer, const nlohmann::json &options, size_t index,
                      Flow input, uint32_t width) {
    const bool causal = flag(layer, "causal");
    const std::string prefix = std::to_string(index) + ".";
    Flow y = input;
    if (options.at("kind") == "conv1d") {
        const uint32_t kernel = options.at("kernel"), dilation = options.at("dilation");
        const bool bias = options.at("bias");
        const uint64_t taps = uint64_t{kernel - 1} * dilation + 1;
        if (taps > longest) {
            return lowering.failure(layer, "branches",
                                    "a kernel of at most " + std::to_string(longest) +
                                        " taps with its dilation",
                                    std::to_string(taps) + " in branch " + std::to_string(index));
        }
        if (!causal && kernel % 2 == 0) {
            return lowering.failure(layer, "branches", "an odd kernel, which has a middle",
                                    std::to_string(kernel) + " taps in branch " + std::to_string(index),
                                    "pad the weight with a zero, or set \"causal\": true");
        }
        std::vector<ir::ValueId> operands = {
            input.value, branch_weight(lowering, layer, prefix + "conv.weight", width, kernel, dilation,
                                       static_cast<uint32_t>(taps), causal)};
        if (bias) operands.push_back(lowering.weight(layer, prefix + "conv.bias", {width}));
        ir::Attributes attributes{{"bias", int64_t{bias}}};
        if (causal) {
            attributes.insert(
                {{"stride_t", int64_t{1}}, {"stride_f", int64_t{1}}, {"frequency", int64_t{0}}});
            attributes["groups"] = int64_t{width};
        }
        LW_ASSIGN(y, lowering.node(layer, causal ? "conv2d" : "centred_conv", std::move(operands),
                                   std::move(attributes), Form::features));
    }
    if (!options.at("batch_norm").get<bool>()) return y;
    std::vector<ir::ValueId> operands = {y.value};
    for (const char *parameter : {"weight", "bias", "running_mean", "running_var"})
        operands.push_back(lowering.weight(layer, prefix + "bn." + parameter, {width}));
    return lowering.node(layer, "batch_norm", std::move(operands), {{"eps", options.at("eps").get<double>()}},
                         Form::features);
}

} // namespace

Expected<Flow> lower_branches(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs) {
    LW_ASSIGN(const uint32_t width, feature_width(lowering, layer, inputs[0]));
    const auto &branches = layer.attributes.at("branches");
    Flow sum;
    for (size_t i = 0; i < branches.size(); ++i) {
        LW_ASSIGN(const Flow term, branch(lowering, layer, branches[i], i, inputs[0], width));
        if (i == 0) {
            sum = term;
        } else {
            LW_ASSIGN(sum, lowering.node(layer, "add", {sum.value, term.value}, {}, Form::features));
        }
    }
    return sum;
}

// residual: x + f(norm(x)), or norm(x + f(x)) if `prenorm` is false. f is the chain of inner
// layers.
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
