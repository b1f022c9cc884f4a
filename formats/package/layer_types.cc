#include "formats/package/layer_types.h"
#include "formats/package/attribute_types.h"
#include <algorithm>

namespace longwave::package {
namespace {

constexpr size_t max_indexed = 64; // scales, branches

const std::vector<ParameterType> weight_and_bias = {{"weight"}, {"bias", {"bias"}}};

AttributeType scale() { return {"scale", AttributeKind::number, false, "1", 1e-6, 1e6}; }
AttributeType cutoffs() { return {"cutoffs", AttributeKind::text}; } // "20000,60000"

LayerType sgconv_type() {
    return {"sgconv",
            {size("kernel_dim"),
             size("l_max"),
             {"mode", AttributeKind::text, false, "\"cat_randn\""},
             {"channels", AttributeKind::integer, false, "1", 1, 64},
             flag("bidirectional", "false"),
             count_or("init_scale", "0", 23),
             {"num_scales", AttributeKind::integer, false, "", 1, 24},
             {"activation",
              AttributeKind::text,
              false,
              "\"gelu\"",
              0,
              0,
              {"gelu", "relu", "silu", "sigmoid", "tanh", "identity"}},
             {"postact",
              AttributeKind::text,
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

std::vector<LayerType> make_layer_types() {
    const ParameterType weight{"weight"}, bias{"bias"};
    return {
        {"log_mel",
         {size("window"),
          size("hop"),
          size("n_fft"),
          size("bands"),
          {"offset", AttributeKind::number, false, "1e-5", 1e-30, 1}},
         {{"window"}, {"mel"}, {"mean"}, {"scale"}}},
        {"conv2d",
         {size("out_channels"),
          {"kernel", AttributeKind::pair},
          {"stride", AttributeKind::pair, false, "[1, 1]"},
          size_or("groups", "1"),
          flag("bias", "true")},
         weight_and_bias},
        {"conv1d",
         {size("out_channels"), size("kernel"), size_or("stride", "1"), size_or("dilation", "1"),
          size_or("groups", "1"), flag("bias", "true")},
         weight_and_bias},
        {"flatten", {}, {}},
        {"linear",
         {size("out_features"),
          flag("bias", "true"),
          {"weights", AttributeKind::text, false, "null", 0, 0, {"null", "float32", "bf16", "int8"}},
          count_or("blocks", "0", 4096)},
         weight_and_bias},
        {"patch_embedding",
         {size("out_features"), {"patch", AttributeKind::pair}, flag("bias", "true")},
         weight_and_bias},
        {"attention",
         {size_or("heads", "1"),
          size_or("head_width", ""),
          size_or("window", ""),
          flag("causal", "true"),
          flag("bias", "true"),
          flag("output_bias", ""),
          flag("output_projection", "true"),
          flag("relative", "false"),
          flag("rotary", "false"),
          {"rotary_base", AttributeKind::number, false, "10000", 1, 1e12},
          word("rotary_pairs", "\"halves\"", {"halves", "interleaved"})},
         {{"q_proj.weight"},
          {"q_proj.bias", {"bias"}},
          {"k_proj.weight"},
          {"k_proj.bias", {"bias"}},
          {"v_proj.weight"},
          {"v_proj.bias", {"bias"}},
          {"o_proj.weight", {"output_projection"}},
          {"o_proj.bias", {"output_projection"}},
          {"r_proj.weight", {"relative"}},
          {"r_w_bias", {"relative"}},
          {"r_r_bias", {"relative"}}}},
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
        {"softplus", {}, {}},
        {"gelu_tanh", {}, {}},
        {"hardswish", {}, {}},
        {"leaky_relu", {real_or("slope", "0.01")}, {}},
        {"elu", {real_or("alpha", "1")}, {}},
        {"clamp", {real_or("low", "-1"), real_or("high", "1")}, {}},
        {"abs", {}, {}},
        {"square", {}, {}},
        {"sqrt", {}, {}},
        {"exp", {}, {}},
        {"reciprocal", {}, {}},
        {"softmax", {}, {}},
        {"log_softmax", {}, {}},
        {"glu", {}, {}},
        {"embedding", {size("vocabulary"), size("width"), scale()}, {weight}},
        {"adaptive_embedding",
         {size("vocabulary"), size("width"), cutoffs(), size_or("factor", "4"), scale()},
         {{"embeddings.#.0.weight"}, {"embeddings.#.1.weight"}}},
        {"adaptive_softmax",
         {size("vocabulary"), cutoffs(), size_or("factor", "4"), flag("bias", "false"),
          flag("tied_projections", "false"), flag("head_projection", "false")},
         {{"head.proj.weight", {"head_projection"}},
          {"head.word_proj.weight"},
          {"head.word_proj.bias", {"bias"}},
          {"head.class_proj.weight"},
          {"head.class_proj.bias", {"bias"}},
          {"tail.#.0.weight"},
          {"tail.#.2.weight"},
          {"tail.#.2.bias", {"bias"}}}},
        sgconv_type(),
        {"branches",
         {{"branches", AttributeKind::branches}, flag("causal", "true")},
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
        {"add", {}, {}, false, true},
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
        for (LayerType &type : family_types()) types.push_back(std::move(type));
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
