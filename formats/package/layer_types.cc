#include "formats/package/layer_types.h"
#include <algorithm>
#include <charconv>

namespace longwave::package {
namespace {

using Kind = AttributeType::Kind;

AttributeType size(std::string name) { return {std::move(name)}; }
AttributeType size_or(std::string name, std::string fallback) { return {std::move(name), Kind::integer, false, std::move(fallback)}; }
AttributeType count_or(std::string name, std::string fallback, double high) { return {std::move(name), Kind::integer, false, std::move(fallback), 0, high}; }
AttributeType flag(std::string name, std::string fallback) { return {std::move(name), Kind::boolean, false, std::move(fallback)}; }
AttributeType small(std::string name, std::string fallback) { return {std::move(name), Kind::number, false, std::move(fallback), 0, 1}; } // eps

const std::vector<ParameterType> weight_and_bias = {{"weight"}, {"bias", "bias"}};

std::vector<LayerType> make_layer_types() {
    const ParameterType weight{"weight"}, bias{"bias"};
    return {
        {"log_mel",
         {size("window"), size("hop"), size("n_fft"), size("bands"), {"offset", Kind::number, false, "1e-5", 1e-30, 1}},
         {{"window"}, {"mel"}, {"mean"}, {"scale"}}},
        {"conv2d",
         {size("out_channels"), {"kernel", Kind::pair}, {"stride", Kind::pair, false, "[1, 1]"}, size_or("groups", "1"), flag("bias", "true")},
         weight_and_bias},
        {"conv1d", {size("out_channels"), size("kernel"), size_or("stride", "1"), size_or("groups", "1"), flag("bias", "true")}, weight_and_bias},
        {"flatten", {}, {}},
        {"linear", {size("out_features"), flag("bias", "true")}, weight_and_bias},
        {"batch_norm", {small("eps", "1e-5")}, {weight, bias, {"running_mean"}, {"running_var"}}, true},
        {"layer_norm", {small("eps", "1e-5")}, {weight, bias}, true},
        {"transposed_layer_norm", {}, {{"m"}, {"s"}}, true},
        {"rms_norm", {small("eps", "1e-6")}, {weight}, true},
        {"relu", {}, {}},
        {"gelu", {}, {}},
        {"silu", {}, {}},
        {"sigmoid", {}, {}},
        {"softmax", {}, {}},
        {"glu", {}, {}},
        {"embedding", {size("vocabulary"), size("width")}, {weight}},
        {"sgconv",
         {size("kernel_dim"),
          size("l_max"),
          {"mode", Kind::text, false, "\"cat_randn\""},
          {"channels", Kind::integer, false, "1", 1, 64},
          flag("bidirectional", "false"),
          count_or("init_scale", "0", 23),
          {"num_scales", Kind::integer, false, "", 1, 24},
          {"activation", Kind::text, false, "\"gelu\"", 0, 0, {"gelu"}},
          {"postact", Kind::text, false, "null", 0, 0, {"null", "glu"}},
          flag("layer_norm", "false"),
          flag("linear", "false"),
          size_or("resolution", "")},
         {{"D"},
          {"kernel_list.#"},
          {"kernel_norm"},
          {"kernel_norm_initialized"},
          {"multiplier"},
          {"decay"},
          {"output_linear.weight", "!linear"},
          {"output_linear.bias", "!linear"},
          {"output_linear.0.weight", "postact"},
          {"output_linear.0.bias", "postact"},
          {"norm.norm.weight", "layer_norm"},
          {"norm.norm.bias", "layer_norm"},
          {"norm.norm.m", "layer_norm"},
          {"norm.norm.s", "layer_norm"}}},
        {"branches",
         {{"branches", Kind::branches}},
         {{"#.conv.weight"}, {"#.conv.bias"}, {"#.bn.weight"}, {"#.bn.bias"}, {"#.bn.running_mean"}, {"#.bn.running_var"}}},
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
        {"conv1d", {size("kernel"), size_or("dilation", "1"), flag("bias", "true"), flag("batch_norm", "false")}, {}},
        {"identity", {flag("batch_norm", "false")}, {}},
    };
}

bool condition_holds(const std::string &when, const nlohmann::json &attributes) {
    if (when.empty()) return true;
    bool negated = when[0] == '!';
    auto it = attributes.find(when.substr(negated));
    bool on = it != attributes.end() && !it->is_null() && *it != false;
    return on != negated;
}

} // namespace

const std::vector<LayerType> &layer_types() {
    static const std::vector<LayerType> table = make_layer_types();
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

bool reads_parameter(const LayerType &type, const nlohmann::json &attributes, std::string_view parameter) {
    for (const auto &known : type.parameters) {
        std::string_view pattern = known.name;
        if (auto mark = pattern.find('#'); mark != pattern.npos) {
            std::string_view head = pattern.substr(0, mark), tail = pattern.substr(mark + 1);
            if (parameter.size() <= head.size() + tail.size() || !parameter.starts_with(head) || !parameter.ends_with(tail)) continue;
            std::string_view digits = parameter.substr(head.size(), parameter.size() - head.size() - tail.size());
            uint32_t index = 0;
            auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
            if (error != std::errc() || end != digits.data() + digits.size()) continue;
        } else if (pattern != parameter) {
            continue;
        }
        if (condition_holds(known.when, attributes)) return true;
    }
    return false;
}

} // namespace longwave::package
