// chela.layer, chela.model and stream.chela as models to run.
#include "tests/oracles/chela_parts.h"
#include "tests/oracles/sgconv_model.h"
#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace longwave::oracles {
namespace {

// Suggested by the fixtures' makers for float32, relative to the peak.
constexpr double layer_limit = 1e-5, model_limit = 2e-5, stream_limit = 5e-5, cancelling_limit = 1e-4;
// In row 1,303 of its first layer the query nearly cancels the state, so rounding of the query counts 330
// times as much as in a usual row (docs/testing.md).
constexpr const char *cancels = "stream_chela_ln_pre_K512_2900";

// The eps of block norms: each kind of norm has its own key.
double norm_eps(const json &config) {
    const std::string norm = config.at("norm");
    return config.value(norm == "batch" ? "bn_eps" : norm == "layer" ? "ln_eps" : "scalenorm_eps", 1e-5);
}

json chela_layer(const json &config, const std::string &name) {
    json layer = {{"type", "chela"},
                  {"name", name},
                  {"short_branches", short_branches(config)},
                  {"long_d", config.at("long_D")},
                  {"norm_eps", norm_eps(config)},
                  {"value_width", config.at("e")},
                  {"ffn_width", config.at("ffn")},
                  {"ffn_activation", config.value("ffn_act", "silu")}};
    for (const char *same : {"causal", "short_mode", "norm", "prenorm", "residual", "h_proj", "att_norm",
                             "att_norm_eps", "att_norm_groups"})
        layer[same] = config.at(same);
    return layer;
}

// S, row by row: with queries that are one-hot vectors whatever the input, the last row of A is a
// row of it.
Status add_state_trials(const Fixture &fixture, const json &layer, std::vector<Trial> &trials) {
    const package::Tensor *s = fixture.find("ref.S");
    if (!s) return Status::ok();
    LW_TRY(fixture.tensor("ref.S", 3).status());
    LW_ASSIGN(const package::Tensor *x, fixture.tensor("in.x", 3));
    const size_t keys = s->shape[1], values = s->shape[2];
    for (size_t i = 0; i < keys; ++i) {
        Trial trial;
        LW_TRY(add_sequences(fixture, trial));
        trial.weights = fixture.weights("block.");
        for (const char *name : {"block.gamma", "block.beta"}) {
            package::Tensor &tensor = trial.weights[name];
            std::vector<float> data(tensor.data.begin(), tensor.data.end());
            if (data.size() != 2 * keys) return Status::input(fixture.name + ": ref.S does not fit gamma");
            std::fill_n(data.begin(), keys, 0.0f);
            if (std::string(name) == "block.beta") data[i] = 1;
            tensor.data = std::move(data);
        }
        trial.model_json =
            model_json("state", features("x", x->shape[2]), json::array({layer}), {{"S", "block/A"}});
        Comparison comparison{.what = "S", .output = "S", .reference = {}};
        comparison.peak = peak_of({s->data.data(), s->data.size()});
        comparison.limit = layer_limit;
        for (size_t b = 0; b < trial.sequences.size(); ++b) {
            const float *row = s->data.data() + (b * keys + i) * values;
            comparison.reference.emplace_back(row, row + values);
        }
        trial.comparisons.push_back(std::move(comparison));
        trials.push_back(std::move(trial));
    }
    return Status::ok();
}

} // namespace

Expected<std::vector<Trial>> chela_layer_trials(const Fixture &fixture) {
    LW_ASSIGN(const package::Tensor *x, fixture.tensor("in.x", 3));
    const json layer = chela_layer(fixture.config, "block");
    std::vector<Trial> trials(1);
    Trial &trial = trials[0];
    LW_TRY(add_sequences(fixture, trial));
    trial.weights = fixture.weights("block.");
    trial.streams = fixture.config.at("causal");
    std::vector<std::pair<std::string, std::string>> outputs;
    for (const char *what : {"y", "Z", "A", "M", "U"}) {
        if (!fixture.has(std::string("ref.") + what)) continue;
        outputs.emplace_back(what, what == std::string("y") ? "block" : std::string("block/") + what);
        LW_TRY(compare(fixture, what, layer_limit, trial));
    }
    if (outputs.empty()) trials.clear();
    else
        trial.model_json =
            model_json(fixture.name, features("x", x->shape[2]), json::array({layer}), outputs);
    LW_TRY(add_state_trials(fixture, layer, trials));
    return trials;
}

Expected<std::vector<Trial>> chela_model_trials(const Fixture &fixture) {
    const json &config = fixture.config;
    const bool tokens = config.at("embedding") == "tokens",
               projected = fixture.has("w.sentence_projection_layer.weight");
    LW_ASSIGN(const package::Tensor *embedding, fixture.tensor("w.embed_tokens.weight", 2));
    LW_ASSIGN(const package::Tensor *classifier, fixture.tensor("w.classifier.0.0.weight", 2));
    const std::string head = config.at("head");
    Trial trial;
    LW_TRY(add_sequences(fixture, trial));
    trial.weights = fixture.weights();
    trial.streams = config.at("causal");
    if (const package::Tensor *lengths = fixture.find("in.lengths"))
        for (size_t b = 0; b < trial.sequences.size(); ++b) {
            trial.sequences[b].lengths = {static_cast<size_t>(lengths->data[b])};
            trial.streams = trial.streams && trial.sequences[b].lengths[0] == trial.sequences[b].rows;
        }

    json layers = json::array();
    const auto linear = [&](const std::string &name, const std::string &prefix, uint64_t out) {
        layers.push_back({{"type", "linear"},
                          {"name", name},
                          {"prefix", prefix},
                          {"out_features", out},
                          {"bias", fixture.has("w." + prefix + ".bias")}});
    };
    if (tokens)
        layers.push_back({{"type", "embedding"},
                          {"name", "embed"},
                          {"prefix", "embed_tokens"},
                          {"vocabulary", embedding->shape[0]},
                          {"width", embedding->shape[1]}});
    else linear("embed", "embed_tokens", embedding->shape[0]);
    for (size_t n = 0; n < config.at("n_layers").get<size_t>(); ++n)
        layers.push_back(chela_layer(config, "layers." + std::to_string(n)));
    if (config.value("final_norm", false) && config.at("norm") != "none")
        layers.push_back({{"type", config.at("norm").get<std::string>() + "_norm"},
                          {"name", "final_norm"},
                          {"eps", norm_eps(config)}});
    const std::string hidden = layers.back().at("name");
    // The head on rows of `from`: h → (linear, gelu) → classes.
    const auto classify = [&](const std::string &from, const std::string &name) {
        if (projected) {
            linear(name + ".projection", "sentence_projection_layer",
                   fixture.find("w.sentence_projection_layer.weight")->shape[0]);
            layers.back()["input"] = from;
            layers.push_back({{"type", "gelu"}, {"name", name + ".activation"}});
        }
        linear(name, "classifier.0.0", classifier->shape[0]);
        if (!projected) layers.back()["input"] = from;
    };
    std::vector<std::pair<std::string, std::string>> outputs = {{"h", hidden}};
    if (head != "steps") layers.push_back({{"type", head}, {"name", "pooled"}, {"input", hidden}});
    classify(head == "steps" ? hidden : "pooled", "logits");
    outputs.emplace_back("y", "logits");
    if (fixture.has("ref.pool")) {
        layers.push_back({{"type", "mean"}, {"name", "mean"}, {"input", hidden}});
        classify("mean", "mean_logits");
        outputs.emplace_back("pool", "mean_logits");
    }
    trial.model_json = model_json(
        fixture.name,
        tokens ? json::array({{{"name", "ids"}, {"kind", "tokens"}, {"vocabulary", embedding->shape[0]}}})
               : features("x", embedding->shape[1]),
        std::move(layers), outputs);
    const double limit = fixture.name == cancels                    ? cancelling_limit
                         : fixture.operation.starts_with("stream.") ? stream_limit
                                                                    : model_limit;
    for (const char *what : {"h", "y"}) LW_TRY(compare(fixture, what, limit, trial));
    LW_TRY(compare(fixture, "pool", limit, trial, false)); // the answer after each position: a stream's
    return std::vector<Trial>{std::move(trial)};
}

} // namespace longwave::oracles
