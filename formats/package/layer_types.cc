#include "formats/package/layer_types.h"
#include <algorithm>

namespace longwave::package {
namespace {

using Kind = AttributeType::Kind;

constexpr size_t max_indexed = 64; // scales, branches

AttributeType size(std::string name) { return {std::move(name)}; }
AttributeType size_or(std::string name, std::string fallback) {
    return {std::move(name), Kind::integer, false, std::move(fallback)};
}
AttributeType count_or(std::string name, std::string fallback, double high) {
    return {std::move(name), Kind::integer, false, std::move(fallback), 0, high};
}
AttributeType flag(std::string name, std::string fallback) {
    return {std::move(name), Kind::boolean, false, std::move(fallback)};
}
AttributeType small(std::string name, std::string fallback) {
    return {std::move(name), Kind::number, false, std::move(fallback), 0, 1};
} // eps

AttributeType word(std::string name, std::string fallback, std::vector<std::string> choices) {
    return {std::move(name), Kind::text, false, std::move(fallback), 0, 0, std::move(choices)};
}
// Where rows are the positions of an image: sizes of its axes, such as "8x11".
AttributeType shape() { return {"shape", Kind::text, false}; }
const std::vector<std::string> activations = {"gelu", "relu", "silu", "sigmoid", "tanh", "identity"};

const std::vector<ParameterType> weight_and_bias = {{"weight"}, {"bias", {"bias"}}};

LayerType sgconv_type() {
    return {"sgconv",
            {size("kernel_dim"),
             size("l_max"),
             {"mode", Kind::text, false, "\"cat_randn\""},
             {"channels", Kind::integer, false, "1", 1, 64},
             flag("bidirectional", "false"),
             count_or("init_scale", "0", 23),
             {"num_scales", Kind::integer, false, "", 1, 24},
             {"activation",
              Kind::text,
              false,
              "\"gelu\"",
              0,
              0,
              {"gelu", "relu", "silu", "sigmoid", "tanh", "identity"}},
             {"postact",
              Kind::text,
              false,
              "null",
              0,
              0,
              {"null", "glu", "gelu", "relu", "silu", "sigmoid", "tanh", "identity"}},
             flag("layer_norm", "false"),
             flag("linear", "false"),
             size_or("resolution", "")},
            {{"D"},
             {"kernel_list.#"},
             {"kernel_norm"},
             {"kernel_norm_initialized"},
             {"multiplier"},
             {"decay"},
             {"output_linear.weight", {"!linear", "!postact"}},
             {"output_linear.bias", {"!linear", "!postact"}},
             {"output_linear.0.weight", {"!linear", "postact"}},
             {"output_linear.0.bias", {"!linear", "postact"}},
             {"norm.norm.weight", {"!linear", "layer_norm"}},
             {"norm.norm.bias", {"!linear", "layer_norm"}},
             {"norm.norm.m", {"!linear", "layer_norm"}},
             {"norm.norm.s", {"!linear", "layer_norm"}}}};
}

LayerType lightnet_attention_type() {
    std::vector<ParameterType> parameters;
    for (const char *which : {"q", "k", "v", "o"}) {
        const std::string name = std::string(which) + "_proj", on = *which == 'o' ? "output_projection" : "";
        parameters.push_back({name + ".weight", on.empty() ? std::vector<std::string>{} : std::vector{on}});
        parameters.push_back({name + ".bias", {on.empty() ? "bias" : on}});
        if (*which == 'o') continue;
        parameters.push_back({std::string(which) + "_conv1d.weight", {"short_conv"}});
        parameters.push_back({std::string(which) + "_conv1d.bias", {"short_conv", "conv_bias"}});
    }
    parameters.insert(parameters.end(), {{"output_gate.weight", {"gate", "!gate_rank"}},
                                         {"output_gate.bias", {"gate", "!gate_rank", "gate_bias"}},
                                         {"output_gate.0.weight", {"gate", "gate_rank"}},
                                         {"output_gate.0.bias", {"gate", "gate_rank", "gate_bias"}},
                                         {"output_gate.1.weight", {"gate", "gate_rank"}},
                                         {"output_gate.1.bias", {"gate", "gate_rank", "gate_bias"}},
                                         {"norm.weight", {"norm"}},
                                         {"norm.bias", {"norm"}},
                                         {"lrpe.theta", {"lrpe"}}});
    return {"lightnet_attention",
            {size_or("heads", "1"),
             size_or("key_width", ""),
             size_or("value_width", ""),
             flag("causal", "true"),
             count_or("initial_sum", "0", 1),
             word("query_activation", "\"silu\"", activations),
             {"scale", Kind::number, false, "1", 1e-6, 1e6},
             flag("bias", "false"),
             flag("output_bias", ""),
             size_or("short_conv", ""),
             flag("conv_bias", "false"),
             word("gate", "\"after_norm\"", {"null", "before_norm", "after_norm"}),
             word("gate_activation", "\"sigmoid\"", activations),
             size_or("gate_rank", ""),
             flag("gate_bias", "false"),
             word("norm", "\"rms\"", {"null", "rms", "layer"}),
             small("norm_eps", "1e-6"),
             flag("output_projection", "true"),
             word("lrpe", "null", {"null", "cosine"}),
             {"lrpe_base", Kind::number, false, "0", 0, 1e12},
             shape(),
             count_or("conditions", "0", max_dim),
             word("theta_layout", "\"shared\"", {"shared", "sliced"})},
            std::move(parameters),
            false,
            false,
            true};
}

// What stands around it: positions, and the GLU of language models.
std::vector<LayerType> lightnet_types() {
    return {
        lightnet_attention_type(),
        {"lrpe",
         {size_or("heads", "1"), shape(), count_or("conditions", "0", max_dim),
          word("theta_layout", "\"shared\"", {"shared", "sliced"})},
         {{"theta"}}},
        {"tpe",
         {size_or("heads", "1"), small("norm_eps", "1e-6"), shape()},
         {{"q", {"!shape"}},
          {"k", {"!shape"}},
          {"log_decay", {"!shape"}},
          {"norm.weight", {"!shape"}},
          {"o_proj.weight", {"!shape"}},
          {"tpes.#.q", {"shape"}},
          {"tpes.#.k", {"shape"}},
          {"tpes.#.log_decay", {"shape"}},
          {"tpes.#.norm.weight", {"shape"}},
          {"tpes.#.o_proj.weight", {"shape"}}}},
        {"exponential_sums", {size("modes"), shape()}, {{"lambda"}, {"c"}}},
        {"gated_mlp",
         {size("hidden"), word("activation", "\"silu\"", {"gelu", "relu", "silu", "sigmoid", "tanh"}),
          flag("bias", "false")},
         {{"w1.weight"},
          {"w1.bias", {"bias"}},
          {"w2.weight"},
          {"w2.bias", {"bias"}},
          {"w3.weight"},
          {"w3.bias", {"bias"}}}},
    };
}

// Attributes and parameters of a short-long convolution, alone or in a block.
LayerType short_long_type() {
    return {"short_long",
            {flag("causal", "true"),
             {"short_branches", Kind::branches},
             word("short_mode", "\"serial_silu\"", {"serial_silu", "serial_linear", "parallel"}),
             word("long", "\"taps\"", {"taps", "sgconv"}),
             flag("long_d", "false"),
             size_or("kernel_dim", ""),
             size_or("l_max", ""),
             {"mode", Kind::text, false, "\"cat_randn\""},
             count_or("init_scale", "0", 23),
             {"num_scales", Kind::integer, false, "", 1, 24}},
            {{"short.#.conv.weight"},
             {"short.#.conv.bias"},
             {"short.#.bn.weight"},
             {"short.#.bn.bias"},
             {"short.#.bn.running_mean"},
             {"short.#.bn.running_var"},
             {"long.k0"},
             {"long.k1", {"!causal"}},
             {"long.D", {"long_d"}},
             {"long.kernel_list.#"},
             {"long.kernel_norm"},
             {"long.kernel_norm_initialized"},
             {"long.multiplier"},
             {"long.decay"}}};
}

LayerType chela_type() {
    LayerType type = short_long_type();
    type.name = "chela";
    const std::vector<std::string> norms = {"batch", "layer", "scale", "rms", "none"};
    const std::vector<AttributeType> more = {word("norm", "\"batch\"", norms),
                                             small("norm_eps", "1e-5"),
                                             flag("prenorm", "true"),
                                             word("residual", "\"raw\"", {"raw", "normalised"}),
                                             size_or("heads", "1"),
                                             size_or("value_width", ""),
                                             flag("h_proj", "false"),
                                             word("att_norm", "\"srms\"", {"srms", "rms", "layer", "none"}),
                                             small("att_norm_eps", "1e-6"),
                                             size_or("att_norm_groups", "1"),
                                             size_or("ffn_width", ""),
                                             word("ffn_activation", "\"silu\"", {"silu", "gelu", "relu"})};
    type.attributes.insert(type.attributes.end(), more.begin(), more.end());
    for (const char *stem : {"norm", "nffn.norm"})
        for (const char *name : {"weight", "bias", "running_mean", "running_var", "scalar"})
            type.parameters.push_back({std::string(stem) + "." + name});
    for (const char *stem : {"v_proj", "g_proj", "o_gate", "h_proj", "nffn.fc1", "nffn.fc2"})
        for (const char *name : {".weight", ".bias"}) type.parameters.push_back({stem + std::string(name)});
    for (const char *name : {"gamma", "beta", "att_norm.weight", "att_norm.bias"})
        type.parameters.push_back({name});
    type.values = {"Z", "A", "M", "U"};
    return type;
}

std::vector<LayerType> make_layer_types() {
    const ParameterType weight{"weight"}, bias{"bias"};
    return {
        {"log_mel",
         {size("window"),
          size("hop"),
          size("n_fft"),
          size("bands"),
          {"offset", Kind::number, false, "1e-5", 1e-30, 1}},
         {{"window"}, {"mel"}, {"mean"}, {"scale"}}},
        {"conv2d",
         {size("out_channels"),
          {"kernel", Kind::pair},
          {"stride", Kind::pair, false, "[1, 1]"},
          size_or("groups", "1"),
          flag("bias", "true")},
         weight_and_bias},
        {"conv1d",
         {size("out_channels"), size("kernel"), size_or("stride", "1"), size_or("groups", "1"),
          flag("bias", "true")},
         weight_and_bias},
        {"flatten", {}, {}},
        {"linear",
         {size("out_features"),
          flag("bias", "true"),
          {"weights", Kind::text, false, "null", 0, 0, {"null", "float32", "bf16", "int8"}}},
         weight_and_bias},
        {"linear_attention",
         {size_or("heads", "1"), size_or("key_width", ""), size_or("value_width", ""), flag("bias", "true")},
         {{"q_proj.weight"},
          {"q_proj.bias", {"bias"}},
          {"k_proj.weight"},
          {"k_proj.bias", {"bias"}},
          {"v_proj.weight"},
          {"v_proj.bias", {"bias"}}}},
        {"batch_norm", {small("eps", "1e-5")}, {weight, bias, {"running_mean"}, {"running_var"}}, true},
        {"layer_norm", {small("eps", "1e-5")}, {weight, bias}, true},
        {"transposed_layer_norm", {}, {{"m"}, {"s"}}, true},
        {"rms_norm", {small("eps", "1e-6")}, {weight}, true},
        {"scale_norm", {small("eps", "1e-5")}, {{"scalar"}}, true},
        {"relu", {}, {}},
        {"gelu", {}, {}},
        {"silu", {}, {}},
        {"sigmoid", {}, {}},
        {"tanh", {}, {}},
        {"softmax", {}, {}},
        {"glu", {}, {}},
        {"embedding", {size("vocabulary"), size("width")}, {weight}},
        sgconv_type(),
        short_long_type(),
        chela_type(),
        {"branches",
         {{"branches", Kind::branches}, flag("causal", "true")},
         {{"#.conv.weight"},
          {"#.conv.bias"},
          {"#.bn.weight"},
          {"#.bn.bias"},
          {"#.bn.running_mean"},
          {"#.bn.running_var"}}},
        {"residual", {flag("prenorm", "true")}, {}}, // `norm` and `layers` are read as layers
        {"mean", {flag("lengths", "true")}, {}},
        {"mean_window", {size("frames")}, {}},
        {"last", {}, {}},
        {"first", {}, {}},
        {"sum", {}, {}},
        {"pair_features", {}, {}, false, true},
    };
}

std::vector<LayerType> make_branch_kinds() {
    return {
        {"conv1d",
         {size("kernel"), size_or("dilation", "1"), flag("bias", "true"), flag("batch_norm", "false"),
          small("eps", "1e-5")},
         {}},
        {"identity", {flag("batch_norm", "false"), small("eps", "1e-5")}, {}},
    };
}

bool is_on(const nlohmann::json &attributes, const std::string &name) {
    auto it = attributes.find(name);
    return it != attributes.end() && !it->is_null() && *it != false;
}

bool condition_holds(const std::vector<std::string> &when, const nlohmann::json &attributes) {
    return std::all_of(when.begin(), when.end(), [&](const std::string &c) {
        return c[0] == '!' ? !is_on(attributes, c.substr(1)) : is_on(attributes, c);
    });
}

} // namespace

const std::vector<LayerType> &layer_types() {
    static const std::vector<LayerType> table = [] {
        std::vector<LayerType> types = make_layer_types();
        for (LayerType &type : lightnet_types()) types.push_back(std::move(type));
        return types;
    }();
    return table;
}

const std::vector<LayerType> &branch_kinds() {
    static const std::vector<LayerType> table = make_branch_kinds();
    return table;
}

const LayerType *find_layer_type(std::string_view name) {
    for (const auto &type : layer_types())
        if (type.name == name) return &type;
    return nullptr;
}

std::vector<std::string> read_parameters(const LayerType &type, const nlohmann::json &attributes) {
    std::vector<std::string> names;
    for (const auto &parameter : type.parameters) {
        if (!condition_holds(parameter.when, attributes)) continue;
        const size_t mark = parameter.name.find('#');
        if (mark == std::string::npos) {
            names.push_back(parameter.name);
            continue;
        }
        for (size_t i = 0; i < max_indexed; ++i)
            names.push_back(parameter.name.substr(0, mark) + std::to_string(i) +
                            parameter.name.substr(mark + 1));
    }
    return names;
}

} // namespace longwave::package
