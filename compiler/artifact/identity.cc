#include "compiler/artifact/identity.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/weights_identity.h"
#include "formats/package/json_text.h"
#include "formats/package/layer_types.h"
#include <fmt/format.h>
#include <map>

namespace longwave::compiler {

namespace {

using nlohmann::json;
using package::AttributeType;
using package::Layer;
using Digest = std::array<uint8_t, 32>;

Digest digest_of(const void *bytes, size_t size) {
    uint8_t hash[artifact::hash_bytes];
    artifact::hash(bytes, size, hash);
    return std::to_array(hash);
}

json given_attributes(const package::LayerType &type, const json &attributes);

json given_branches(const json &branches) {
    json list = json::array();
    for (const json &branch : branches)
        for (const package::LayerType &kind : package::branch_kinds()) {
            if (branch.at("kind") != kind.name) continue;
            list.push_back(given_attributes(kind, branch));
            list.back()["kind"] = kind.name;
        }
    return list;
}

// The attributes that differ from their default. JSON objects sort their keys, so equal attributes
// give equal text.
json given_attributes(const package::LayerType &type, const json &attributes) {
    json given = json::object();
    for (const AttributeType &attribute : type.attributes) {
        const auto value = attributes.find(attribute.name);
        if (value == attributes.end()) continue;
        if (attribute.kind == AttributeType::Kind::branches) given[attribute.name] = given_branches(*value);
        else if (attribute.fallback.empty() || *value != json::parse(attribute.fallback))
            given[attribute.name] = attribute.kind == AttributeType::Kind::number && value->is_number()
                                        ? json(value->get<double>())
                                        : *value;
    }
    return given;
}

json description(const Layer &layer) {
    json text = {{"type", layer.type}, {"address", layer.address}, {"inputs", layer.inputs}};
    if (const package::LayerType *type = package::find_layer_type(layer.type))
        text["attributes"] = given_attributes(*type, layer.attributes);
    if (layer.norm) text["norm"] = description(*layer.norm);
    for (const Layer &inner : layer.layers) package::list_in(text, "layers").push_back(description(inner));
    return text;
}

json description(const package::Node &node) {
    json inputs = json::array();
    for (const package::NodeInput &input : node.inputs)
        inputs.push_back(input.tensor ? json() : json(input.name));
    return {{"op", node.op}, {"name", node.name}, {"inputs", inputs}, {"attributes", node.attributes}};
}

std::string description(const package::Package &package) {
    json text = json::object();
    for (const package::Input &input : package.inputs)
        package::list_in(text, "inputs")
            .push_back({{"name", input.name},
                        {"kind", static_cast<int>(input.kind)},
                        {"width", input.width},
                        {"sample_rate", input.sample_rate},
                        {"vocabulary", input.vocabulary}});
    for (const Layer &layer : package.layers) package::list_in(text, "layers").push_back(description(layer));
    for (const package::Node &node : package.graph)
        package::list_in(text, "graph").push_back(description(node));
    for (const package::Output &output : package.outputs)
        package::list_in(text, "outputs").push_back({{"name", output.name}, {"from", output.from}});
    return text.dump();
}

// Identifies each tensor once, however many layers share it.
class ParametersOf {
public:
    explicit ParametersOf(const package::Package &package) : package_(package) {
        for (const Layer &layer : package.layers) add(layer);
        for (const package::Node &node : package.graph)
            for (size_t i = 0; i < node.inputs.size(); ++i)
                if (node.inputs[i].tensor) add(fmt::format("{} {}", node.name, i), node.inputs[i].name);
    }
    std::map<std::string, std::string> keys; // of the tensors, by layer and parameter

private:
    void add(const Layer &layer) {
        if (const package::LayerType *type = package::find_layer_type(layer.type))
            for (const std::string &parameter : package::read_parameters(*type, layer.attributes))
                add(fmt::format("{} {}", layer.address, parameter), layer.key(parameter));
        if (layer.norm) add(*layer.norm);
        for (const Layer &inner : layer.layers) add(inner);
    }
    void add(const std::string &parameter, const std::string &key) {
        if (package_.weights.contains(key)) keys[parameter] = key;
    }
    const package::Package &package_;
};

} // namespace

std::map<std::string, std::string> parameters_of(const package::Package &package) {
    return ParametersOf(package).keys;
}

StateIdentity identity_of(const package::Package &package, const std::string &rounding) {
    const std::string model = description(package);
    StateIdentity identity;
    identity.model = digest_of(model.data(), model.size());
    artifact::WeightsIdentity weights(rounding);
    std::map<std::string, std::string> identified;
    for (const auto &[parameter, key] : parameters_of(package)) {
        const auto [tensor, fresh] = identified.try_emplace(key);
        if (fresh) {
            const package::Tensor &of = package.weights.at(key);
            tensor->second = artifact::identified(of.shape, of.data);
        }
        weights.add(parameter, tensor->second);
    }
    identity.weights = weights.digest();
    return identity;
}

} // namespace longwave::compiler
