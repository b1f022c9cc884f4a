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

// Options written as null are options left out.
template <class T> T option(const json &config, const char *key, T fallback) {
    return config.contains(key) && !config[key].is_null() ? config[key].get<T>() : fallback;
}

// Options of the published code that change the result and have no counterpart here: refused unless
// off.
Status refuse(const json &config, std::initializer_list<const char *> keys) {
    for (const char *key : keys)
        if (config.contains(key) && !config[key].is_null() && config[key] != false)
            return Status::input(std::string("option \"") + key + "\": " + config[key].dump() +
                                 " has no counterpart in the sgconv layer");
    return Status::ok();
}

// Which norm it is follows from its keys, as for official state dicts; null where there is none.
Expected<json> norm_layer(const std::string &prefix, const json &config, const Weights &weights) {
    const std::string kind = option<std::string>(config, "norm", "none");
    if (kind != "none" && kind != "batch" && kind != "layer")
        return Status::input("option \"norm\": \"" + kind + "\" has no layer");
    if (weights.count(prefix + ".m")) return json{{"type", "transposed_layer_norm"}, {"prefix", prefix}};
    if (kind == "batch" || weights.count(prefix + ".running_mean"))
        return json{{"type", "batch_norm"}, {"prefix", prefix}, {"eps", option(config, "bn_eps", 1e-5)}};
    const bool inner =
        weights.count(prefix + ".ln.weight") != 0; // the transposed norm with a weight and a bias a channel
    if (kind == "none" && !inner && !weights.count(prefix + ".weight")) return json();
    return json{{"type", "layer_norm"},
                {"prefix", prefix + (inner ? ".ln" : "")},
                {"eps", option(config, "ln_eps", 1e-5)}};
}

// The published names of one activation.
std::string activation(const json &name) {
    if (name.is_null() || name == "id" || name == "linear") return "identity";
    return name == "swish" ? "silu" : name.get<std::string>();
}

json linear(const std::string &name, const std::string &prefix, uint64_t out, bool bias) {
    return {{"type", "linear"}, {"name", name}, {"prefix", prefix}, {"out_features", out}, {"bias", bias}};
}

bool starts_with(const Weights &weights, const std::string &prefix) {
    auto it = weights.lower_bound(prefix);
    return it != weights.end() && it->first.starts_with(prefix);
}

// One chain from an input to the end of the backbone; layer names end in `suffix`. Returns the name
// of the last layer.
Expected<std::string> backbone(json &layers, const json &config, const Weights &weights, bool tokens,
                               size_t positions, const std::string &input, const std::string &suffix) {
    const auto &shape = weights.at("encoder.0.weight").shape;
    json first =
        tokens ? json{{"type", "embedding"},
                      {"name", "encoder" + suffix},
                      {"prefix", "encoder.0"},
                      {"vocabulary", shape[0]},
                      {"width", shape[1]}}
               : linear("encoder" + suffix, "encoder.0", shape[0], weights.count("encoder.0.bias") != 0);
    first["input"] = input;
    layers.push_back(std::move(first));

    std::string last = "encoder" + suffix;
    const size_t blocks = config.at("n_layers");
    for (size_t n = 0; n < blocks; ++n) {
        const std::string prefix = "model.layers." + std::to_string(n);
        LW_ASSIGN(json conv, sgconv_layer(config.at("layer"), positions));
        LW_ASSIGN(json norm, norm_layer(prefix + ".norm.norm", config, weights));
        conv["name"] = "conv";
        conv["prefix"] = prefix + ".layer";
        last = "block." + std::to_string(n) + suffix;
        layers.push_back({{"type", "residual"},
                          {"name", last},
                          {"prenorm", config.at("prenorm")},
                          {"norm", std::move(norm)},
                          {"layers", json::array({conv})}});
    }
    if (starts_with(weights, "model.norm.norm.")) {
        LW_ASSIGN(json norm, norm_layer("model.norm.norm", config, weights));
        last = norm["name"] = "norm" + suffix;
        layers.push_back(std::move(norm));
    }
    return last;
}

std::optional<bool> uses_lengths(const json &decoder) {
    for (const char *key : {"lengths", "use_lengths"})
        if (decoder.contains(key) && !decoder[key].is_null()) return decoder[key].get<bool>();
    return std::nullopt;
}

// Pooling by the decoder's mode; returns the name of the layer the logits read.
std::string pooled(json &layers, const json &decoder, const std::string &suffix) {
    const std::string mode = option<std::string>(decoder, "mode", "pool");
    if (mode == "pool")
        layers.push_back({{"type", "mean"},
                          {"name", "pooled" + suffix},
                          {"lengths", uses_lengths(decoder).value_or(false)}});
    else layers.push_back({{"type", mode}, {"name", "pooled" + suffix}}); // last, first, sum
    return "pooled" + suffix;
}

} // namespace

std::string model_json(const std::string &name, json inputs, json layers,
                       const std::vector<std::pair<std::string, std::string>> &outputs) {
    json model = {{"format", "longwave-model"},
                  {"version", 1},
                  {"name", name},
                  {"inputs", std::move(inputs)},
                  {"layers", std::move(layers)},
                  {"outputs", json::array()}};
    for (const auto &[output, from] : outputs) model["outputs"].push_back({{"name", output}, {"from", from}});
    return model.dump(2);
}

Expected<json> sgconv_layer(const json &config, size_t positions) {
    LW_TRY(refuse(config, {"hyper_act", "gate", "bottleneck"}));
    const auto kernel_dim = option<uint64_t>(config, "kernel_dim", 64),
               l_max = option<uint64_t>(config, "l_max", positions);
    const std::string mode = option<std::string>(config, "mode", "cat_randn");
    json layer = {{"type", "sgconv"}, {"kernel_dim", kernel_dim}, {"l_max", l_max}, {"mode", mode}};
    for (const char *same : {"channels", "bidirectional", "init_scale", "linear"})
        if (config.contains(same) && !config[same].is_null()) layer[same] = config[same];
    for (const char *count : {"n_scales", "num_scales"})
        if (config.contains(count) && !config[count].is_null()) layer["num_scales"] = config[count];
    layer["layer_norm"] = option(config, "ln", false);
    if (config.contains("activation")) layer["activation"] = activation(config["activation"]);
    if (config.contains("postact") && !config["postact"].is_null())
        layer["postact"] = activation(config["postact"]);
    const bool resizes = mode.find("trunc") != mode.npos || mode.find("expand") != mode.npos;
    if (resizes && l_max != positions) layer["resolution"] = positions;
    // The published forward cuts the kernel at the sequence, not at l_max, which only sets the
    // number of scales.
    if (!resizes && positions > l_max) {
        if (!layer.contains("num_scales"))
            layer["num_scales"] = scales(l_max, kernel_dim, option(config, "init_scale", 0));
        layer["l_max"] = positions;
    }
    return layer;
}

Expected<SgconvModel> sgconv_model(const std::string &name, const json &config, const Weights &weights,
                                   bool tokens, size_t positions) {
    SgconvModel model;
    const json decoder = config.value("decoder", json::object());
    const bool pairs = decoder.value("kind", "seq") == "nli";
    model.lengths = uses_lengths(decoder);
    if (const auto residual = option<std::string>(config, "residual", "R"); !residual.starts_with("R"))
        return Status::input("option \"residual\": \"" + residual +
                             "\" has no layer: only the plain sum (R) has");
    if (const auto pool = option<std::string>(config, "pool", "stride 1"); !pool.starts_with("stride 1"))
        return Status::input("option \"pool\": \"" + pool +
                             "\" has no layer: only stride 1 (the identity) has");
    const auto encoder = weights.find("encoder.0.weight");
    if (encoder == weights.end() || encoder->second.shape.size() != 2)
        return Status::input("expected tensor w.encoder.0.weight of rank 2");
    model.input_name = tokens ? "ids" : "x";
    model.documents = pairs ? 2 : 1;

    json inputs = json::array(), layers = json::array();
    std::vector<std::pair<std::string, std::string>> outputs;
    std::vector<std::string> ends;
    for (size_t d = 0; d < model.documents; ++d) {
        const std::string suffix = pairs ? "." + std::to_string(d) : "";
        LW_ASSIGN(const std::string end,
                  backbone(layers, config, weights, tokens, positions, model.input(d), suffix));
        if (tokens)
            inputs.push_back(
                {{"name", model.input(d)}, {"kind", "tokens"}, {"vocabulary", encoder->second.shape[0]}});
        else
            inputs.push_back(
                {{"name", model.input(d)}, {"kind", "features"}, {"width", encoder->second.shape[1]}});
        outputs.emplace_back(model.hidden(d), end);
        ends.push_back(pairs ? pooled(layers, decoder, suffix) : end);
    }

    if (pairs) {
        const std::string prefix = "decoder.0.retrieval.classifier.";
        if (!weights.count(prefix + "0.bias") || !weights.count(prefix + "2.bias"))
            return Status::input("expected tensors w." + prefix + "0.bias and 2.bias");
        layers.push_back({{"type", "pair_features"}, {"name", "pair"}, {"inputs", ends}});
        layers.push_back(
            linear("classifier.0", prefix + "0", weights.at(prefix + "0.bias").shape.at(0), true));
        layers.push_back(
            {{"type", option<std::string>(decoder, "activation", "gelu")}, {"name", "classifier.1"}});
        layers.push_back(linear("logits", prefix + "2", weights.at(prefix + "2.bias").shape.at(0), true));
        outputs.emplace_back("y", "logits");
    } else {
        const std::string prefix = "decoder.0.output_transform";
        const uint64_t classes = config.contains("classes") ? config["classes"].get<uint64_t>()
                                                            : decoder.at("classes").get<uint64_t>();
        const bool bias = weights.count(prefix + ".bias") != 0;
        // A head of every position: named as such, or a decoder without a length of its output. A
        // longer output than one position is a part of it.
        const bool streams = config.contains("heads");
        const auto kept = option<int64_t>(decoder, "l_output", 0);
        const std::string mode = option<std::string>(decoder, "mode", "pool");
        const bool each = streams || (decoder.contains("l_output") && decoder["l_output"].is_null());
        if (kept > 1 && ((mode != "first" && mode != "last") || uses_lengths(decoder).value_or(false)))
            return Status::input("decoder: no layer gives " + std::to_string(kept) + " positions of mode \"" +
                                 mode + "\", or any up to a length");
        if (each || kept > 1) model.head = mode == "first" ? Head::first_positions : Head::last_positions;
        else pooled(layers, decoder, "");
        model.first = model.head == Head::pooled && mode == "first";
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
