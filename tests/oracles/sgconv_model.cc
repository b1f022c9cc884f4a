#include "tests/oracles/sgconv_model.h"

namespace longwave::oracles {
namespace {

using nlohmann::json;

// As the official code derives it: 1 + ceil(log2(l_max / kernel_dim)) - init_scale.
int scales(uint64_t l_max, uint64_t kernel_dim, int init_scale) {
    int n = 1 - init_scale;
    while (kernel_dim < l_max) kernel_dim *= 2, ++n;
    return n;
}

// Which norm it is follows from its keys, as for official state dicts.
json norm_layer(const std::string &prefix, const json &config, const Weights &weights) {
    if (weights.count(prefix + ".running_mean")) return {{"type", "batch_norm"}, {"prefix", prefix}, {"eps", config.value("bn_eps", 1e-5)}};
    if (weights.count(prefix + ".m")) return {{"type", "transposed_layer_norm"}, {"prefix", prefix}};
    return {{"type", "layer_norm"}, {"prefix", prefix}, {"eps", config.value("ln_eps", 1e-5)}};
}

json linear(const std::string &name, const std::string &prefix, uint64_t out, bool bias) {
    return {{"type", "linear"}, {"name", name}, {"prefix", prefix}, {"out_features", out}, {"bias", bias}};
}

bool starts_with(const Weights &weights, const std::string &prefix) {
    auto it = weights.lower_bound(prefix);
    return it != weights.end() && it->first.starts_with(prefix);
}

// One chain from an input to the end of the backbone; layer names end in `suffix`. Returns the name of the last layer.
Expected<std::string> backbone(json &layers, const json &config, const Weights &weights, const std::string &input, const std::string &suffix) {
    auto encoder = weights.find("encoder.0.weight");
    if (encoder == weights.end() || encoder->second.shape.size() != 2) return Status::input("oracle: expected tensor w.encoder.0.weight of rank 2");
    const auto &shape = encoder->second.shape;
    const bool embedding = config.value("encoder", input.starts_with("ids") ? "Embedding" : "Linear").starts_with("Embedding");
    json first =
        embedding ? json{{"type", "embedding"}, {"name", "encoder" + suffix}, {"prefix", "encoder.0"}, {"vocabulary", shape[0]}, {"width", shape[1]}}
                  : linear("encoder" + suffix, "encoder.0", shape[0], weights.count("encoder.0.bias") != 0);
    first["input"] = input;
    layers.push_back(std::move(first));

    std::string last = "encoder" + suffix;
    const size_t blocks = config.at("n_layers");
    for (size_t n = 0; n < blocks; ++n) {
        const std::string prefix = "model.layers." + std::to_string(n);
        LW_ASSIGN(json conv, sgconv_layer(config.at("layer"), config.at("L")));
        conv["name"] = "conv";
        conv["prefix"] = prefix + ".layer";
        last = "block." + std::to_string(n) + suffix;
        layers.push_back({{"type", "residual"},
                          {"name", last},
                          {"prenorm", config.at("prenorm")},
                          {"norm", norm_layer(prefix + ".norm.norm", config, weights)},
                          {"layers", json::array({conv})}});
    }
    if (starts_with(weights, "model.norm.norm.")) {
        json norm = norm_layer("model.norm.norm", config, weights);
        last = norm["name"] = "norm" + suffix;
        layers.push_back(std::move(norm));
    }
    return last;
}

// Pooling by the decoder's mode; returns the name of the layer the logits read.
std::string pooled(json &layers, const json &decoder, const std::string &suffix) {
    const std::string mode = decoder.value("mode", "pool");
    if (mode == "pool") layers.push_back({{"type", "mean"}, {"name", "pooled" + suffix}, {"lengths", decoder.value("lengths", false)}});
    else layers.push_back({{"type", mode}, {"name", "pooled" + suffix}}); // last, first, sum
    return "pooled" + suffix;
}

} // namespace

std::string model_json(const std::string &name, json inputs, json layers, const std::vector<std::pair<std::string, std::string>> &outputs) {
    json model = {{"format", "longwave-model"}, {"version", 1}, {"name", name}, {"inputs", std::move(inputs)}, {"layers", std::move(layers)},
                  {"outputs", json::array()}};
    for (const auto &[output, from] : outputs) model["outputs"].push_back({{"name", output}, {"from", from}});
    return model.dump(2);
}

Expected<json> sgconv_layer(const json &config, size_t positions) {
    if (config.value("weight_norm", false)) return Status::input("oracle: weight_norm has no counterpart in the sgconv layer");
    json layer = {
        {"type", "sgconv"}, {"kernel_dim", config.at("kernel_dim")}, {"l_max", config.at("l_max")}, {"mode", config.value("mode", "cat_randn")}};
    for (const char *same : {"channels", "bidirectional", "init_scale", "num_scales", "activation", "postact", "linear"})
        if (config.contains(same)) layer[same] = config[same];
    if (config.contains("ln")) layer["layer_norm"] = config["ln"];
    const std::string mode = layer["mode"];
    const bool resizes = mode.find("trunc") != mode.npos || mode.find("expand") != mode.npos;
    if (resizes && layer["l_max"] != positions) layer["resolution"] = positions;
    // The published forward cuts the kernel at the sequence, not at l_max, which only sets the number of scales.
    if (const uint64_t l_max = layer["l_max"], kernel_dim = layer["kernel_dim"]; !resizes && positions > l_max) {
        if (!layer.contains("num_scales")) layer["num_scales"] = scales(l_max, kernel_dim, config.value("init_scale", 0));
        layer["l_max"] = positions;
    }
    return layer;
}

Expected<SgconvModel> sgconv_model(const std::string &name, const json &config, const Weights &weights) {
    SgconvModel model;
    const json decoder = config.value("decoder", json::object());
    const bool tokens = !weights.count("encoder.0.bias") && config.value("encoder", "Linear").starts_with("Embedding");
    const bool pairs = decoder.value("kind", "seq") == "nli";
    model.input_name = tokens ? "ids" : "x";
    model.documents = pairs ? 2 : 1;

    json inputs = json::array(), layers = json::array();
    std::vector<std::pair<std::string, std::string>> outputs;
    std::vector<std::string> ends;
    for (size_t d = 0; d < model.documents; ++d) {
        const auto encoder = weights.find("encoder.0.weight");
        const std::string suffix = pairs ? "." + std::to_string(d) : "";
        LW_ASSIGN(const std::string end, backbone(layers, config, weights, model.input(d), suffix));
        if (tokens) inputs.push_back({{"name", model.input(d)}, {"kind", "tokens"}, {"vocabulary", encoder->second.shape[0]}});
        else inputs.push_back({{"name", model.input(d)}, {"kind", "features"}, {"width", encoder->second.shape[1]}});
        outputs.emplace_back(model.hidden(d), end);
        ends.push_back(pairs ? pooled(layers, decoder, suffix) : end);
    }

    if (pairs) {
        const std::string prefix = "decoder.0.retrieval.classifier.";
        if (!weights.count(prefix + "0.bias") || !weights.count(prefix + "2.bias"))
            return Status::input("oracle: expected tensors w." + prefix + "0.bias and 2.bias");
        layers.push_back({{"type", "pair_features"}, {"name", "pair"}, {"inputs", ends}});
        layers.push_back(linear("classifier.0", prefix + "0", weights.at(prefix + "0.bias").shape.at(0), true));
        layers.push_back({{"type", "gelu"}, {"name", "classifier.1"}});
        layers.push_back(linear("logits", prefix + "2", weights.at(prefix + "2.bias").shape.at(0), true));
        outputs.emplace_back("y", "logits");
    } else {
        const std::string prefix = "decoder.0.output_transform";
        const uint64_t classes = config.contains("classes") ? config["classes"].get<uint64_t>() : decoder.at("classes").get<uint64_t>();
        const bool bias = weights.count(prefix + ".bias") != 0;
        // A head of every position: named as such, or a decoder without a length of its output.
        const bool streams = config.contains("heads"), each = streams || (decoder.contains("l_output") && decoder["l_output"].is_null());
        if (!each) pooled(layers, decoder, "");
        layers.push_back(linear("logits", prefix, classes, bias));
        outputs.emplace_back("y", "logits");
        if (streams) {
            layers.push_back({{"type", "mean"}, {"name", "mean"}, {"input", ends[0]}});
            layers.push_back(linear("mean_logits", prefix, classes, bias));
            outputs.emplace_back("pool", "mean_logits");
        }
    }
    model.json = model_json(name, std::move(inputs), std::move(layers), outputs);
    return model;
}

} // namespace longwave::oracles
