#include "formats/package/graph_reader.h"
#include "formats/package/attributes.h"
#include "formats/package/layer_reader.h"

namespace longwave::package {
namespace {

using nlohmann::json;

constexpr size_t max_nodes = 4096, max_node_inputs = 256, max_attributes = 64;

// The text of `key`; empty when that was reported.
std::string text_of(const json &object, const char *key, const char *expected, const std::string &path,
                    Problems &problems) {
    const auto value = object.find(key);
    const std::string here = member(path, key);
    if (value == object.end()) problems.add(here, expected, "no such key");
    else if (good_name(*value, here, NameKind::key, problems)) return *value;
    return "";
}

NodeInput read_input(const json &value, const std::string &path, Names &names, Problems &problems) {
    if (value.is_string()) return {names.resolve(value, path), false};
    if (value.is_object()) {
        only_keys(value, {"tensor"}, path, problems);
        return {text_of(value, "tensor", "the key of a tensor", path, problems), true};
    }
    problems.add(path, "a name or {\"tensor\": KEY}", describe(value));
    return {};
}

json read_attributes(const json &object, const std::string &path, Problems &problems) {
    if (!object.is_object() || object.size() > max_attributes) {
        problems.add(path, "an object of at most " + std::to_string(max_attributes) + " attributes",
                     object.is_object() ? std::to_string(object.size()) : describe(object));
        return json::object();
    }
    for (const auto &[name, value] : object.items()) {
        const std::string here = member(path, name);
        const bool fits = !value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX;
        if (value.is_string()) good_name(value, here, NameKind::key, problems);
        else if (!value.is_number() || !fits)
            problems.add(here, "a number or a text", describe(value),
                         value.is_boolean() ? "write 0 or 1" : "");
    }
    return object;
}

Node read_node(const json &object, const std::string &path, Names &names, Problems &problems) {
    Node node;
    node.path = path;
    if (!object.is_object()) {
        problems.add(path, "a node (an object with \"name\", \"op\" and \"inputs\") or a layer",
                     describe(object));
        return node;
    }
    only_keys(object, {"name", "op", "inputs", "attributes"}, path, problems);
    node.name = text_of(object, "name", "a name of its own", path, problems);
    node.op = text_of(object, "op", "the name of an op", path, problems);
    const json inputs = object.value("inputs", json());
    if (!inputs.is_array() || inputs.empty() || inputs.size() > max_node_inputs) {
        problems.add(path + ".inputs", "a list of 1 to " + std::to_string(max_node_inputs) + " inputs",
                     object.contains("inputs") ? describe(inputs) : "no such key");
    } else {
        for (size_t i = 0; i < inputs.size(); ++i)
            node.inputs.push_back(read_input(inputs[i], element(path + ".inputs", i), names, problems));
    }
    node.attributes =
        read_attributes(object.value("attributes", json::object()), path + ".attributes", problems);
    if (!node.name.empty()) names.define(node.name, path);
    return node;
}

} // namespace

void read_graph(const json &list, Names &names, Problems &problems, Package &package) {
    if (!list.is_array() || list.empty() || list.size() > max_nodes) {
        problems.add("graph", "a list of 1 to " + std::to_string(max_nodes) + " nodes", describe(list));
        return;
    }
    LayerReader layers(names, problems);
    for (size_t i = 0; i < list.size(); ++i) {
        const std::string path = element("graph", i);
        if (list[i].is_object() && list[i].contains("type")) {
            package.layers.push_back(layers.read_one(list[i], path));
            Node node;
            node.path = path;
            node.name = package.layers.back().address;
            package.graph.push_back(std::move(node));
        } else {
            package.graph.push_back(read_node(list[i], path, names, problems));
        }
    }
}

} // namespace longwave::package
