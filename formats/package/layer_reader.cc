#include "formats/package/layer_reader.h"
#include "formats/package/attributes.h"

namespace longwave::package {
namespace {

using nlohmann::json;

constexpr size_t max_layers = 4096, max_nesting = 8;

std::vector<std::string> type_names(bool norms_only) {
    std::vector<std::string> names;
    for (const auto &type : layer_types())
        if (type.norm || !norms_only) names.push_back(type.name);
    return names;
}

// What to use in place of a layer that other frameworks have and model folders do not; null for
// other words.
const char *instead_of(std::string_view name) {
    static constexpr struct {
        std::string_view names; // between spaces
        const char *text;
    } known[] = {
        {" s4d ssm diagonal_ssm diagonal_state_space ",
         "use \"state_space\" with \"s4d\": true, or import the PyTorch module (docs/import.md)"},
        {" s4 s4block dss gss s5 liquid_s4 hyena h3 long_conv longconv mega ",
         "import the PyTorch module (docs/import.md): its kernel becomes a recurrence or the taps of a long "
         "convolution"},
        {" mamba mamba2 gated_deltanet mlstm xlstm rwkv7 ",
         "compile the folder that `save_pretrained` writes: docs/huggingface.md"},
        {" s6 selective_ssm rwkv rwkv6 gla gated_linear_attention deltanet ",
         "its recurrence depends on the input, which no layer computes; use another engine: docs/compare.md"},
        {" lstm gru rnn ", "import the PyTorch module: docs/import.md lists what it may compute"},
        {" transformer mha multihead_attention self_attention sdpa ",
         "use \"attention\" inside \"residual\""},
        {" dense fc matmul projection ", "use \"linear\""},
        {" dropout identity noop ", "leave it out: it does nothing after training"},
        {" batchnorm1d batchnorm2d bn ", "use \"batch_norm\""},
        {" depthwise_conv1d causal_conv1d conv ", "use \"conv1d\""},
        {" swish ", "use \"silu\""},
    };
    if (name.size() > 40) return nullptr;
    std::string word = " ";
    for (char c : name) word += c == '-' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    word += ' ';
    if (word.find(' ', 1) != word.size() - 1) return nullptr; // several words
    for (const auto &entry : known)
        if (entry.names.find(word) != std::string_view::npos) return entry.text;
    return nullptr;
}

// The layer type that `object` names; null when it was reported.
const LayerType *read_type(const json &object, const std::string &path, bool norms_only, Problems &problems) {
    const std::string here = path + ".type",
                      expected =
                          norms_only ? "a norm layer" : "a layer type that `longwave compile --layers` lists";
    auto it = object.find("type");
    if (it == object.end() || !it->is_string()) {
        problems.add(here, expected, it == object.end() ? "no such key" : describe(*it));
        return nullptr;
    }
    const auto &name = it->get_ref<const std::string &>();
    const LayerType *type = find_layer_type(name);
    if (type && (type->norm || !norms_only)) return type;
    const char *instead = instead_of(name);
    problems.add(here, expected, in_quotes(name),
                 instead ? instead : problems.hint(name, type_names(norms_only)));
    return nullptr;
}

} // namespace

std::vector<Layer> LayerReader::read(const json &list) { return this->list(list, "layers", ""); }

Layer LayerReader::read_one(const json &object, const std::string &path) {
    Layer one = layer(object, path, "");
    if (one.inputs.empty() && find_layer_type(one.type))
        problems_.add(path + ".input", "the name of an input or of an earlier node", "no such key");
    return one;
}

std::vector<Layer> LayerReader::list(const json &list, const std::string &path, const std::string &scope) {
    std::vector<Layer> layers;
    if (!list.is_array() || list.empty()) {
        problems_.add(path, "a list of layers", describe(list));
        return layers;
    }
    for (size_t i = 0; i < list.size(); ++i) {
        if (++layers_ > max_layers) {
            if (layers_ == max_layers + 1)
                problems_.add(path, "at most " + std::to_string(max_layers) + " layers in a model", "more");
            break;
        }
        layers.push_back(layer(list[i], element(path, i), scope));
    }
    return layers;
}

Layer LayerReader::layer(const json &object, const std::string &path, const std::string &scope) {
    Layer layer;
    layer.path = path;
    if (!object.is_object()) {
        problems_.add(path, "a layer (an object with \"type\" and \"name\")", describe(object));
        return layer;
    }
    if (!object.contains("name")) {
        problems_.add(path + ".name", "a name of its own", "no such key",
                      "reports, references and weight keys use it");
    } else if (good_name(object["name"], path + ".name", NameKind::part, problems_)) {
        layer.name = layer.prefix = object["name"];
        layer.address = scope + layer.name;
    }

    const LayerType *type = read_type(object, path, false, problems_);
    if (type) {
        layer.type = type->name;
        std::vector<std::string> others = {"type", "name", "input"};
        const bool two = type->two_inputs || (type->may_mask && object.contains("inputs"));
        if (two) others.back() = "inputs";
        if (!type->parameters.empty()) others.insert(others.end(), {"prefix", "keys"});
        if (type->name == "residual") others.insert(others.end(), {"norm", "layers"});
        references(object, two, layer, scope);
        body(object, layer, others);
        if (type->name == "residual" && depth_ + 1 >= max_nesting) {
            problems_.add(path, "residuals nested at most " + std::to_string(max_nesting) + " deep", "more");
        } else if (type->name == "residual") {
            ++depth_;
            bool prenorm = layer.attributes.value("prenorm", true);
            const bool has_norm = object.contains("norm") && !object["norm"].is_null();
            if (has_norm && prenorm)
                layer.norm = std::make_shared<Layer>(norm(object["norm"], path + ".norm", layer));
            layer.layers = list(object.value("layers", json()), path + ".layers", layer.address + "/");
            if (has_norm && !prenorm)
                layer.norm = std::make_shared<Layer>(norm(object["norm"], path + ".norm", layer));
            --depth_;
        }
    }
    if (!layer.address.empty()) names_.define(layer.address, path);
    if (type && !layer.address.empty())
        for (const auto &value : type->values) names_.define(layer.address + "/" + value, path);
    return layer;
}

Layer LayerReader::norm(const json &object, const std::string &path, const Layer &residual) {
    Layer norm;
    norm.path = path;
    norm.name = "norm";
    norm.prefix = residual.name + ".norm";
    norm.address = residual.address + "/norm";
    if (!object.is_object()) {
        problems_.add(path, "a norm layer without name, or null", describe(object));
        return norm;
    }
    if (const LayerType *type = read_type(object, path, true, problems_)) {
        norm.type = type->name;
        body(object, norm, {"type", "prefix", "keys"});
    }
    names_.define(norm.address, path);
    return norm;
}

// Attributes, prefix and keys.
void LayerReader::body(const json &object, Layer &layer, const std::vector<std::string> &others) {
    const LayerType &type = *find_layer_type(layer.type);
    layer.attributes = read_attributes(type, object, others, layer.path, problems_);
    if (type.parameters.empty()) return;
    // "": the model is one layer, and its tensors have the bare names of the parameters.
    if (object.contains("prefix") &&
        (object["prefix"] == "" ||
         good_name(object["prefix"], layer.path + ".prefix", NameKind::key, problems_)))
        layer.prefix = object["prefix"];
    auto keys = object.find("keys");
    if (keys == object.end()) return;
    if (!keys->is_object()) {
        problems_.add(layer.path + ".keys", "an object from parameter to tensor key", describe(*keys));
        return;
    }
    std::vector<std::string> names;
    for (const auto &p : type.parameters) names.push_back(p.name);
    const auto read = read_parameters(type, layer.attributes);
    const std::set<std::string> known(read.begin(), read.end());
    for (const auto &[parameter, key] : keys->items()) {
        const std::string here = member(layer.path + ".keys", parameter);
        if (!known.count(parameter)) {
            problems_.add(here, "a parameter that this " + layer.type + " reads", "another",
                          problems_.hint(parameter, names));
        } else if (good_name(key, here, NameKind::key, problems_)) {
            layer.keys[parameter] = key;
        }
    }
}

void LayerReader::references(const json &object, bool two, Layer &layer, const std::string &scope) {
    if (!two) {
        if (object.contains("input"))
            layer.inputs.push_back(names_.resolve(object["input"], layer.path + ".input", scope));
        return;
    }
    const json list = object.value("inputs", json());
    if (!list.is_array() || list.size() != 2) {
        problems_.add(layer.path + ".inputs", "a list of two names of layers or inputs",
                      object.contains("inputs") ? describe(list) : "no such key");
        return;
    }
    for (size_t i = 0; i < 2; ++i)
        layer.inputs.push_back(names_.resolve(list[i], element(layer.path + ".inputs", i), scope));
}

using nlohmann::json;

Names::Names(const char *thing, const std::vector<std::string> &inputs, Problems &problems)
    : expected_(std::string("the name of an input or of an earlier ") + thing), problems_(problems) {
    for (size_t i = 0; i < inputs.size(); ++i) known_.emplace(inputs[i], element("inputs", i));
}

std::string Names::resolve(const json &reference, const std::string &path, std::string scope) {
    if (!reference.is_string()) {
        problems_.add(path, expected_, describe(reference));
        return "";
    }
    const auto &name = reference.get_ref<const std::string &>();
    while (true) {
        if (known_.count(scope + name)) return scope + name;
        if (scope.empty()) break;
        scope.pop_back(); // "a/b/" -> "a/"
        size_t slash = scope.rfind('/');
        scope.resize(slash == std::string::npos ? 0 : slash + 1);
    }
    std::vector<std::string> names;
    if (problems_.patient() && !problems_.full())
        for (const auto &[address, where] : known_) names.push_back(address);
    problems_.add(path, expected_, in_quotes(name), problems_.hint(name, names));
    return name;
}

void Names::define(const std::string &address, const std::string &path) {
    auto [it, fresh] = known_.emplace(address, path);
    if (!fresh)
        problems_.add(path + ".name", "a name that is used once",
                      in_quotes(address) + ", which " + it->second + " has too", "rename one of them");
}

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
