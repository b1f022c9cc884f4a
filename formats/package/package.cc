#include "formats/package/package.h"
#include "formats/package/attributes.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include "formats/package/layer_reader.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <sys/stat.h>

namespace longwave::package {
namespace {

using nlohmann::json;

constexpr size_t max_json_depth = 64, max_inputs = 16, max_outputs = 64, max_labels = 65'535;
constexpr uint64_t max_json_bytes = 16u << 20;
constexpr double max_rate = 1'000'000; // Hz
constexpr double max_lag = 1 << 20;    // samples

// The value of `key`, which must be a list of 1 to `limit`; an empty list when that was reported.
json list_of(const json &model, const char *key, size_t limit, Problems &problems) {
    json list = model.value(key, json());
    if (list.is_array() && !list.empty() && list.size() <= limit) return list;
    problems.add(key, "a list of 1 to " + std::to_string(limit),
                 model.contains(key) ? describe(list) : "no such key");
    return json::array();
}

Input read_input(const json &object, const std::string &path, Problems &problems) {
    Input input;
    if (!object.is_object()) {
        problems.add(path, "an input (an object with \"name\" and \"kind\")", describe(object));
        return input;
    }
    const json name = object.value("name", json()), kind = object.value("kind", json());
    if (good_name(name, path + ".name", NameKind::part, problems)) input.name = name;

    struct Form {
        const char *name, *key;
        Input::Kind kind;
        uint32_t Input::*field;
        double high;
    };
    static const Form forms[] = {{"audio", "sample_rate", Input::Kind::audio, &Input::sample_rate, max_rate},
                                 {"features", "width", Input::Kind::features, &Input::width, max_dim},
                                 {"tokens", "vocabulary", Input::Kind::tokens, &Input::vocabulary, max_dim}};
    for (const auto &k : forms) {
        if (kind != k.name) continue;
        input.kind = k.kind;
        // Rows of features may be samples: of several channels, or of another signal than audio.
        const bool may_have_rate = k.kind == Input::Kind::features;
        only_keys(object, {"name", "kind", k.key, may_have_rate ? "sample_rate" : k.key}, path, problems);
        if (may_have_rate && object.contains("sample_rate") &&
            integer_in(object["sample_rate"], 1, max_rate, member(path, "sample_rate"), problems))
            input.sample_rate = object["sample_rate"];
        if (!object.contains(k.key))
            problems.add(member(path, k.key), std::string("this key (") + k.name + " needs it)",
                         "no such key");
        else if (integer_in(object[k.key], 1, k.high, member(path, k.key), problems))
            input.*k.field = object[k.key];
        return input;
    }
    problems.add(path + ".kind", "\"audio\", \"features\" or \"tokens\"",
                 object.contains("kind") ? describe(kind) : "no such key",
                 kind.is_string()
                     ? problems.hint(kind.get_ref<const std::string &>(), {"audio", "features", "tokens"})
                     : "");
    return input;
}

std::vector<Input> read_inputs(const json &model, Problems &problems) {
    std::vector<Input> inputs;
    std::set<std::string> names;
    const json list = list_of(model, "inputs", max_inputs, problems);
    for (size_t i = 0; i < list.size(); ++i) {
        inputs.push_back(read_input(list[i], element("inputs", i), problems));
        const auto &name = inputs.back().name;
        if (!name.empty() && !names.insert(name).second)
            problems.add(element("inputs", i) + ".name", "a name that is used once",
                         in_quotes(name) + " again");
    }
    return inputs;
}

// Rows of features, or of samples.
void read_output_kind(const json &object, const std::string &path, Output &output, Problems &problems) {
    const json kind = object.value("kind", json("features"));
    output.audio = kind == "audio";
    if (!output.audio && kind != "features")
        problems.add(path + ".kind", "\"audio\" or \"features\"", describe(kind),
                     kind.is_string()
                         ? problems.hint(kind.get_ref<const std::string &>(), {"audio", "features"})
                         : "");
    for (const char *key : {"sample_rate", "lag"})
        if (!output.audio && object.contains(key))
            problems.add(member(path, key), "no such key in an output of features", describe(object[key]),
                         "add \"kind\": \"audio\" if its rows are samples");
    only_keys(object, {"name", "from", "kind", "sample_rate", "lag"}, path, problems);
    if (!output.audio) return;
    if (object.contains("sample_rate") &&
        integer_in(object["sample_rate"], 1, max_rate, member(path, "sample_rate"), problems))
        output.sample_rate = object["sample_rate"];
    if (object.contains("lag") && integer_in(object["lag"], 0, max_lag, member(path, "lag"), problems))
        output.lag = object["lag"];
}

std::vector<Output> read_outputs(const json &model, Names &known, Problems &problems) {
    std::vector<Output> outputs;
    std::set<std::string> names;
    const json list = list_of(model, "outputs", max_outputs, problems);
    for (size_t i = 0; i < list.size(); ++i) {
        const std::string path = element("outputs", i);
        if (!list[i].is_object()) {
            problems.add(path, "an output (an object with \"name\" and \"from\")", describe(list[i]));
            continue;
        }
        Output output;
        read_output_kind(list[i], path, output, problems);
        const json name = list[i].value("name", json());
        if (good_name(name, path + ".name", NameKind::part, problems)) {
            output.name = name;
            if (!names.insert(output.name).second)
                problems.add(path + ".name", "a name that is used once", in_quotes(output.name) + " again");
        }
        output.from = known.resolve(list[i].value("from", json()), path + ".from");
        outputs.push_back(std::move(output));
    }
    return outputs;
}

std::vector<std::string> read_labels(const json &model, Problems &problems) {
    std::vector<std::string> labels;
    if (!model.contains("labels")) return labels;
    std::set<std::string> seen;
    const json list = list_of(model, "labels", max_labels, problems);
    for (size_t i = 0; i < list.size(); ++i) {
        if (!good_name(list[i], element("labels", i), NameKind::part, problems)) continue;
        labels.push_back(list[i]);
        if (!seen.insert(labels.back()).second)
            problems.add(element("labels", i), "labels that differ", in_quotes(labels.back()) + " again");
    }
    return labels;
}

void expect_label(const std::string &label, const std::vector<std::string> &labels,
                  const std::set<std::string> &known, const std::string &path, Problems &problems) {
    if (!known.count(label))
        problems.add(path, "one of the labels", in_quotes(label), problems.hint(label, labels));
}

Decision read_decision(const json &object, const Package &package, Problems &problems) {
    Decision decision;
    const std::string path = "decision";
    if (!object.is_object()) {
        problems.add(path, "an object", describe(object));
        return decision;
    }
    only_keys(object,
              {"output", "ignore", "threshold", "smoothing_ms", "min_count", "release", "refractory_ms"},
              path, problems);
    if (package.labels.empty())
        problems.add(path, "labels in the model", "none", "name the classes under \"labels\"");

    const std::set<std::string> known(package.labels.begin(), package.labels.end());
    std::vector<std::string> outputs;
    for (const auto &o : package.outputs) outputs.push_back(o.name);
    const json output = object.value("output", json());
    if (output.is_string()) decision.output = output;
    if (std::find(outputs.begin(), outputs.end(), decision.output) == outputs.end() || !output.is_string()) {
        problems.add("decision.output", "the name of an output",
                     object.contains("output") ? describe(output) : "no such key",
                     problems.hint(decision.output, outputs));
    }

    const json ignore = object.value("ignore", json::array());
    if (!ignore.is_array()) problems.add("decision.ignore", "a list of labels", describe(ignore));
    for (size_t i = 0; ignore.is_array() && i < ignore.size(); ++i) {
        if (!good_name(ignore[i], element("decision.ignore", i), NameKind::part, problems)) continue;
        decision.ignore.push_back(ignore[i]);
        expect_label(decision.ignore.back(), package.labels, known, element("decision.ignore", i), problems);
    }

    const json thresholds = object.value("threshold", json::object());
    if (!thresholds.is_object())
        problems.add("decision.threshold", "an object from label (or \"default\") to number",
                     describe(thresholds));
    for (const auto &[label, value] : thresholds.items()) {
        if (!thresholds.is_object()) break;
        const std::string here = member("decision.threshold", label);
        if (label != "default") expect_label(label, package.labels, known, here, problems);
        if (!number_in(value, 0, 1, here, problems)) continue;
        if (label == "default") decision.default_threshold = value;
        else decision.thresholds[label] = value;
    }

    auto number = [&](const char *key, float &out, double low, double high) {
        if (object.contains(key) && number_in(object[key], low, high, member(path, key), problems))
            out = object[key];
    };
    number("smoothing_ms", decision.smoothing_ms, 0, 60'000);
    number("release", decision.release, 0, 1);
    number("refractory_ms", decision.refractory_ms, 0, 600'000);
    if (object.contains("min_count") &&
        integer_in(object["min_count"], 1, 100'000, "decision.min_count", problems))
        decision.min_count = object["min_count"];
    return decision;
}

void read_graph_of(const json &model, Package &package, Names &names, Problems &problems) {
    if (model.contains("layers"))
        problems.add("layers", "either layers or a graph", "both in a model of version 2",
                     "remove \"layers\", or write \"version\": 1 without \"graph\"");
    read_graph(model.value("graph", json()), names, problems, package);
    if (model.contains("length") && integer_in(model["length"], 1, max_dim, "length", problems))
        package.length = model["length"];
}

void read_model(const json &model, Package &package, Problems &problems) {
    if (!model.is_object()) {
        problems.add("model.json", "an object", describe(model));
        return;
    }
    const json format = model.value("format", json()), version = model.value("version", json());
    if (format != "longwave-model") {
        problems.add("format", "\"longwave-model\"",
                     model.contains("format") ? describe(format) : "no such key",
                     "this is not a model description");
        return; // whatever it is, the other keys mean nothing
    }
    if (version != 1 && version != 2) {
        problems.add("version", "1 or 2", model.contains("version") ? describe(version) : "no such key",
                     version.is_number() && version > 2 ? "a newer Longwave wrote it; use that one"
                                                        : "write \"version\": 1 for layers, 2 for a graph");
        return;
    }
    const bool graph = version == 2;
    std::vector<std::string> keys = {"format", "version", "name",   "inputs",
                                     "layers", "outputs", "labels", "decision"};
    if (graph) keys.insert(keys.end(), {"graph", "length"});
    only_keys(model, keys, "", problems);
    const json name = model.value("name", json());
    if (good_name(name, "name", NameKind::model, problems)) package.name = name;
    package.inputs = read_inputs(model, problems);
    std::vector<std::string> input_names;
    for (const auto &input : package.inputs) input_names.push_back(input.name);
    Names names(graph ? "node" : "layer", input_names, problems);
    if (graph) read_graph_of(model, package, names, problems);
    else package.layers = LayerReader(names, problems).read(model.value("layers", json()));
    package.outputs = read_outputs(model, names, problems);
    package.labels = read_labels(model, problems);
    if ((package.has_decision = model.contains("decision")))
        package.decision = read_decision(model["decision"], package, problems);
}

void check_finite(const std::map<std::string, Tensor> &weights, Problems &problems) {
    for (const auto &[key, tensor] : weights) {
        size_t bad = 0, first = 0;
        in_pieces(tensor.data, [&](size_t begin, std::span<const float> piece) {
            for (size_t i = 0; i < piece.size(); ++i)
                if (!std::isfinite(piece[i]) && bad++ == 0) first = begin + i;
        });
        if (bad == 0) continue;
        const char *what = std::isnan(tensor.data[first]) ? "NaN"
                           : tensor.data[first] > 0       ? "+infinity"
                                                          : "-infinity";
        problems.add(
            "tensor " + in_quotes(key) + " index " + std::to_string(first), "a finite number",
            what + (bad > 1 ? " (and " + std::to_string(bad - 1) + " more in this tensor)" : std::string()),
            "the training diverged or the file is damaged");
    }
}

void mark_used(const Layer &layer, const std::map<std::string, Tensor> &weights,
               std::set<std::string> &used) {
    const LayerType *type = find_layer_type(layer.type);
    if (!type) return;
    for (const auto &parameter : read_parameters(*type, layer.attributes)) {
        if (auto it = weights.find(layer.key(parameter)); it != weights.end()) used.insert(it->first);
    }
    if (layer.norm) mark_used(*layer.norm, weights, used);
    for (const auto &inner : layer.layers) mark_used(inner, weights, used);
}

void find_unused(Package &package) {
    std::set<std::string> used;
    for (const auto &layer : package.layers) mark_used(layer, package.weights, used);
    for (const Node &node : package.graph)
        for (const NodeInput &input : node.inputs)
            if (input.tensor) used.insert(input.name);
    for (const auto &[key, tensor] : package.weights)
        if (!used.count(key) && !key.ends_with("num_batches_tracked")) package.unused.push_back(key);
}

Package parse_into(std::string_view model_json, const std::string &source,
                   std::map<std::string, Tensor> weights, Problems &problems) {
    Package package;
    if (auto model = parse_json(model_json, source, max_json_depth, problems))
        read_model(*model, package, problems);
    check_finite(weights, problems);
    package.weights = std::move(weights);
    if (!problems.any()) find_unused(package);
    return package;
}

} // namespace

Status check_finite(const std::map<std::string, Tensor> &weights) {
    Problems problems;
    check_finite(weights, problems);
    return problems.status();
}

Expected<Package> parse(const std::string &model_json, std::map<std::string, Tensor> weights) {
    Problems problems;
    Package package = parse_into(model_json, "model.json", std::move(weights), problems);
    if (problems.any()) return problems.status();
    return package;
}

// For files of PyTorch and ONNX: how a model folder is made.
static std::string import_hint(std::string_view path) {
    for (const char *end : {".pt", ".pth", ".ckpt", ".safetensors"})
        if (path.ends_with(end))
            return "; import the PyTorch module first, with the file as its checkpoint: docs/import.md";
    if (path.ends_with(".onnx")) return "; import the graph first: docs/onnx.md";
    return path.ends_with(".pt2") ? "; import the PyTorch module that it was made from: docs/import.md" : "";
}

Expected<Package> read(const std::string &folder) {
    struct stat info;
    if (stat(folder.c_str(), &info) != 0)
        return Status::input(folder + ": cannot be read: " + std::strerror(errno) +
                             "; expected a folder with model.json and weights.safetensors");
    if (!S_ISDIR(info.st_mode))
        return Status::input(folder +
                             ": expected a folder with model.json and weights.safetensors, found a file" +
                             import_hint(folder));

    Problems problems;
    std::map<std::string, Tensor> weights;
    const std::string model_path = folder + "/model.json";
    auto model = read_file(model_path, max_json_bytes);
    problems.append(model.status());
    if (auto tensors = read_safetensors(folder + "/weights.safetensors")) weights = *std::move(tensors);
    else problems.append(tensors.status());
    if (!model) return problems.status();

    std::string_view text(reinterpret_cast<const char *>(model->data()), model->size());
    Package package = parse_into(text, model_path, std::move(weights), problems);
    if (problems.any()) return problems.status();
    return package;
}

} // namespace longwave::package
