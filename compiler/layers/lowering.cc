#include "compiler/layers/lowering.h"
#include "compiler/ir/op.h"
#include "compiler/layers/layers.h"
#include <algorithm>

namespace longwave::compiler::layers {
namespace {

// The table of layers: how each layer type of the model package becomes ops. Attributes and
// parameter names are in formats/package/layer_types.h.

struct LayerDef {
    const char *type;
    // Builds the layer's ops on `inputs` (two for pair_features, else one) and returns the result.
    // Problems with weights and attributes go to `lowering`, and the work continues. It returns a
    // failure only if no graph can be built.
    Expected<Flow> (*lower)(Lowering &lowering, const Layer &layer, std::span<const Flow> inputs);
};

const LayerDef *find_layer(const std::string &type); // null when unknown

std::span<const LayerDef> all_layers() {
    static constexpr LayerDef table[] = {
        {"log_mel", lower_log_mel},
        {"conv2d", lower_conv2d},
        {"conv1d", lower_conv1d},
        {"flatten", lower_flatten},
        {"linear", lower_linear},
        {"attention", lower_attention},
        {"patch_embedding", lower_patch_embedding},
        {"linear_attention", lower_linear_attention},
        {"lightnet_attention", lower_lightnet_attention},
        {"lrpe", lower_lrpe},
        {"tpe", lower_tpe},
        {"exponential_sums", lower_exponential_sums},
        {"gated_mlp", lower_gated_mlp},
        {"batch_norm", lower_norm},
        {"layer_norm", lower_norm},
        {"transposed_layer_norm", lower_norm},
        {"rms_norm", lower_norm},
        {"scale_norm", lower_norm},
        {"relu", lower_activation},
        {"gelu", lower_activation},
        {"silu", lower_activation},
        {"sigmoid", lower_activation},
        {"tanh", lower_activation},
        {"softplus", lower_activation},
        {"gelu_tanh", lower_activation},
        {"hardswish", lower_activation},
        {"leaky_relu", lower_activation},
        {"elu", lower_activation},
        {"clamp", lower_activation},
        {"abs", lower_activation},
        {"square", lower_activation},
        {"sqrt", lower_activation},
        {"exp", lower_activation},
        {"reciprocal", lower_activation},
        {"softmax", lower_activation},
        {"log_softmax", lower_activation},
        {"glu", lower_glu},
        {"embedding", lower_embedding},
        {"adaptive_embedding", lower_adaptive_embedding},
        {"adaptive_softmax", lower_adaptive_softmax},
        {"sgconv", lower_sgconv},
        {"short_long", lower_short_long},
        {"state_space", lower_state_space},
        {"chela", lower_chela},
        {"orchid", lower_orchid},
        {"m2_mlp", lower_m2_mlp},
        {"branches", lower_branches},
        {"residual", lower_residual},
        {"mean", lower_pooling},
        {"mean_window", lower_mean_window},
        {"last", lower_pooling},
        {"first", lower_pooling},
        {"sum", lower_pooling},
        {"add", lower_add},
        {"pair_features", lower_pair_features},
    };
    return table;
}

const LayerDef *find_layer(const std::string &type) {
    for (const auto &def : all_layers())
        if (type == def.type) return &def;
    return nullptr;
}

std::string place(const Layer &layer, const std::string &attribute) {
    return attribute.empty() ? layer.path + " (" + layer.address + ")"
                             : package::member(layer.path, attribute) + " (" + layer.address + ")";
}

bool same_shape(const std::vector<uint64_t> &found, const std::vector<uint32_t> &expected) {
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
}

// Used if nothing better is known.
constexpr const char *other_options =
    "set the options that the weights were trained with, or name another tensor with \"keys\"";

// A misspelt key is among those that nothing reads, and it is misspelt on one side of its last
// point.
std::string similar_key(const std::string &key, const std::vector<std::string> &unused,
                        package::Problems &problems) {
    if (!problems.patient() || problems.full()) return {};
    const size_t point = key.rfind('.');
    std::vector<std::string> candidates;
    for (const auto &other : unused) {
        const size_t at = other.rfind('.');
        if (point == key.npos || at == other.npos || key.substr(point) == other.substr(at) ||
            key.substr(0, point) == other.substr(0, at))
            candidates.push_back(other);
    }
    return problems.hint(key, candidates);
}

} // namespace

Expected<Flow> Lowering::node(const Layer &layer, const std::string &op, std::vector<ir::ValueId> inputs,
                              ir::Attributes attributes, Form form) {
    auto value = builder_.node(op, std::move(inputs), std::move(attributes), layer.address);
    if (!value) return Status(value.status().fault(), layer.path + ": " + value.status().message());
    return Flow{*value, form};
}

ir::ValueId Lowering::constant(std::string key, std::vector<uint32_t> shape, ir::Numbers data) {
    auto [it, fresh] = constants_.try_emplace({key, shape}, 0);
    if (fresh) it->second = builder_.constant(std::move(key), std::move(shape), std::move(data));
    return it->second;
}

const ir::GraphInput *Lowering::graph_input(Flow flow) const {
    for (const auto &input : builder_.graph().inputs)
        if (input.value == flow.value) return &input;
    return nullptr;
}

const package::Tensor *Lowering::find(const Layer &layer, const std::string &parameter) const {
    auto it = package_.weights.find(layer.key(parameter));
    return it == package_.weights.end() ? nullptr : &it->second;
}

const package::Tensor *Lowering::checked(const Layer &layer, const std::string &parameter,
                                         const std::vector<uint32_t> &shape,
                                         const std::vector<std::vector<uint32_t>> &stored) {
    const std::string key = layer.key(parameter),
                      where = place(layer, "") + ": tensor " + package::in_quotes(key);
    const std::vector<uint32_t> &shown = stored.empty() ? shape : stored.front();
    const package::Tensor *tensor = find(layer, parameter);
    if (!tensor) {
        std::string way_out = similar_key(key, package_.unused, problems_);
        const std::string start = layer.key_start();
        auto any = package_.weights.lower_bound(start);
        bool known_prefix = any != package_.weights.end() && any->first.starts_with(start);
        if (way_out.empty() && !known_prefix)
            way_out = "no tensor starts with " + package::in_quotes(start) +
                      ": set \"prefix\", or \"keys\" for one parameter";
        if (way_out.empty()) way_out = other_options;
        problems_.add(where, "shape " + package::shape_text(shown), "no such tensor", way_out);
        return nullptr;
    }
    bool fits = same_shape(tensor->shape, shape);
    for (const auto &other : stored) fits = fits || same_shape(tensor->shape, other);
    if (fits) return tensor;
    std::string way_out = other_options;
    if (tensor->shape.size() == 2 && shown.size() == 2 && tensor->shape[0] == shown[1] &&
        tensor->shape[1] == shown[0])
        way_out = "transpose it";
    problems_.add(where, "shape " + package::shape_text(shown), package::shape_text(tensor->shape), way_out);
    return nullptr;
}

ir::ValueId Lowering::weight(const Layer &layer, const std::string &parameter,
                             const std::vector<uint32_t> &shape,
                             const std::vector<std::vector<uint32_t>> &stored) {
    const std::string key = layer.key(parameter);
    if (auto it = constants_.find({key, shape}); it != constants_.end()) return it->second;
    const package::Tensor *tensor = checked(layer, parameter, shape, stored);
    if (!tensor) return builder_.constant(key, shape, {});
    return constant(key, shape, tensor->data);
}

std::optional<ir::ValueId> Lowering::tensor(const std::string &key, const std::string &path) {
    const auto found = package_.weights.find(key);
    if (found == package_.weights.end()) {
        problems_.add(path, "the key of a tensor", package::in_quotes(key),
                      similar_key(key, package_.unused, problems_));
        return {};
    }
    const package::Tensor &tensor = found->second;
    bool fits = tensor.elements() <= ir::most_elements;
    for (const uint64_t extent : tensor.shape) fits = fits && extent > 0 && extent <= ir::most_elements;
    if (!fits) {
        problems_.add(path, "a tensor of 1 to " + std::to_string(ir::most_elements) + " elements",
                      "shape " + package::shape_text(tensor.shape));
        return {};
    }
    return constant(key, {tensor.shape.begin(), tensor.shape.end()}, tensor.data);
}

std::vector<double> Lowering::numbers(const Layer &layer, const std::string &parameter,
                                      const std::vector<uint32_t> &shape,
                                      const std::vector<std::vector<uint32_t>> &stored) {
    const package::Tensor *tensor = checked(layer, parameter, shape, stored);
    return tensor ? std::vector<double>(tensor->data.begin(), tensor->data.end()) : std::vector<double>();
}

Expected<Flow> Lowering::product(const Layer &layer, const std::string &name, Flow x, uint32_t out,
                                 bool bias) {
    std::vector<ir::ValueId> operands = {x.value, weight(layer, name + ".weight", {out, width(x)})};
    if (bias) operands.push_back(weight(layer, name + ".bias", {out}));
    return node(layer, "linear", std::move(operands), {{"bias", int64_t{bias}}}, Form::features);
}

void Lowering::problem(const Layer &layer, const std::string &attribute, const std::string &expected,
                       const std::string &found, const std::string &way_out) {
    problems_.add(place(layer, attribute), expected, found, way_out);
}

Status Lowering::failure(const Layer &layer, const std::string &attribute, const std::string &expected,
                         const std::string &found, const std::string &way_out) const {
    package::Problems one;
    one.add(place(layer, attribute), expected, found, way_out);
    return one.status();
}

const Flow *Lowering::at(const std::string &address) const {
    auto it = values_.find(address);
    return it == values_.end() ? nullptr : &it->second;
}

// Of the type the layer would probably have had: what its attributes say, else what it was given.
Flow Lowering::stand_in(const Layer &layer, Flow input) {
    ir::Type guess = type(input);
    guess.elem = ir::Elem::f32;
    for (const char *name : {"out_features", "out_channels", "width", "bands"})
        if (layer.attributes.contains(name)) guess.dims = {integer(layer, name)};
    return {builder_.input({.name = layer.address, .kind = ir::GraphInput::Kind::features}, guess),
            Form::features};
}

Flow Lowering::layer(const Layer &layer, Flow previous) {
    std::vector<Flow> inputs;
    for (const auto &address : layer.inputs) {
        const Flow *found = at(address);
        if (!found)
            problem(layer, "input", "the name of an input or of an earlier layer",
                    package::in_quotes(address));
        inputs.push_back(found ? *found : previous);
    }
    if (inputs.empty()) inputs.push_back(previous);

    const LayerDef *def = find_layer(layer.type);
    Flow result;
    if (!def) {
        problem(layer, "type", "a layer type that can be compiled", package::in_quotes(layer.type));
        result = stand_in(layer, inputs[0]);
    } else if (auto lowered = def->lower(*this, layer, inputs)) {
        result = *lowered;
    } else {
        problems_.append(lowered.status());
        result = stand_in(layer, inputs[0]);
    }
    define(layer.address, result);
    return result;
}

Flow Lowering::chain(const std::vector<Layer> &layers, Flow previous) {
    for (const auto &next : layers) previous = layer(next, previous);
    return previous;
}

Layer part_of(const Layer &layer, const std::string &name, const std::string &type,
              nlohmann::json attributes) {
    Layer part;
    part.path = layer.path;
    part.type = type;
    part.name = name;
    part.prefix = layer.key_start() + name;
    part.address = layer.address + "/" + name;
    part.attributes = std::move(attributes);
    for (const auto &[parameter, key] : layer.keys)
        if (parameter.starts_with(name + ".")) part.keys[parameter.substr(name.size() + 1)] = key;
    return part;
}

Expected<uint32_t> feature_width(const Lowering &lowering, const Layer &layer, Flow input) {
    const ir::Type type = lowering.type(input);
    if (type.elem != ir::Elem::f32)
        return lowering.failure(layer, "", "rows of features", "token ids",
                                "an embedding turns ids into rows");
    if (type.dims.size() == 1) return type.dims[0];
    return lowering.failure(layer, "", "rows of features", "rows of shape " + package::shape_text(type.dims),
                            "put a linear layer before it");
}

} // namespace longwave::compiler::layers
