// lightnet.attention, .attention_noncausal, .model and stream.lightnet as models to run.
#include "tests/oracles/lightnet_parts.h"
#include "tests/oracles/sgconv_model.h"
#include <cmath>

using nlohmann::json;

namespace longwave::oracles {
namespace {

// The whole block, with the mask as one more feature where there is one. Padding stands on the
// left, so that what counts are the last rows.
Expected<Trial> attention_trial(const Fixture &fixture, const json &layer) {
    LW_ASSIGN(const package::Tensor *x, fixture.tensor("in.x", 3));
    const package::Tensor *mask = fixture.find("in.mask");
    const size_t batch = x->shape[0], rows = x->shape[1], width = x->shape[2];
    Trial trial;
    trial.weights = fixture.weights("attention.");
    trial.streams = fixture.config.value("causal", true);
    json layers = json::array({layer});
    if (mask) {
        const auto part = [](const char *name, size_t out) {
            return json{
                {"type", "linear"}, {"name", name}, {"input", "x"}, {"out_features", out}, {"bias", false}};
        };
        layers = {part("features", width), part("mask", 1), layer};
        layers[2]["inputs"] = {"features", "mask"};
        trial.weights["features.weight"] =
            lightnet::matrix(width, width + 1, [](size_t i, size_t j) { return i == j ? 1.0f : 0.0f; });
        trial.weights["mask.weight"] =
            lightnet::matrix(1, width + 1, [&](size_t, size_t j) { return j == width ? 1.0f : 0.0f; });
    }
    trial.model_json =
        model_json(fixture.name, lightnet::input(width + (mask ? 1 : 0)), layers, {{"y", "attention"}});
    for (size_t b = 0; b < batch; ++b) {
        std::vector<float> numbers;
        for (size_t t = 0; t < rows; ++t) {
            const float *row = x->data.data() + (b * rows + t) * width;
            numbers.insert(numbers.end(), row, row + width);
            if (mask) numbers.push_back(mask->data[b * rows + t]);
        }
        lightnet::add_sequence(trial, rows, std::move(numbers));
    }
    LW_TRY(lightnet::expect_all(fixture, "y", lightnet::layer_limit, trial));
    if (!mask || trial.comparisons.empty()) return trial;
    for (size_t b = 0; b < batch; ++b) {
        size_t padded = 0;
        while (padded < rows && mask->data[b * rows + padded] == 0) ++padded;
        std::vector<float> &reference = trial.comparisons[0].reference[b];
        reference.erase(reference.begin(), reference.begin() + static_cast<ptrdiff_t>(padded * width));
    }
    return trial;
}

// The matrix behind a sequence that is not causal, read by queries of one key channel each: they
// come in as further features, while keys and values are the block's own.
Expected<Trial> state_trial(const Fixture &fixture, json layer) {
    LW_ASSIGN(const package::Tensor *x, fixture.tensor("in.x", 3));
    LW_ASSIGN(const package::Tensor *state, fixture.tensor("ref.state", 4));
    const size_t batch = x->shape[0], rows = x->shape[1], width = x->shape[2], heads = state->shape[1],
                 dk = layer.at("key_width").get<size_t>() / heads, dv = state->shape[3], keys = heads * dk;
    const package::Tensor *theta = fixture.find("w.lrpe.theta");
    Trial trial;
    trial.weights = fixture.weights("attention.");
    for (const std::string which : {"k", "v"}) {
        package::Tensor &w = trial.weights.at("attention." + which + "_proj.weight");
        const package::Tensor block = w;
        w = lightnet::matrix(block.shape[0], width + dk, [&](size_t i, size_t j) {
            return j < width ? block.data[i * width + j] : 0.0f;
        });
    }
    trial.weights["attention.q_proj.weight"] = lightnet::matrix(
        keys, width + dk, [&](size_t i, size_t j) { return j == width + i % dk ? 1.0f : 0.0f; });
    layer.update({{"query_activation", "identity"},
                  {"gate", nullptr},
                  {"norm", nullptr},
                  {"output_projection", false}});
    for (const char *unread : {"output_gate.0.weight", "output_gate.1.weight", "norm.weight"})
        layer["keys"].erase(unread);
    trial.model_json =
        model_json("state", lightnet::input(width + dk), json::array({layer}), {{"state", "attention"}});
    const double scale = layer.value("scale", 1.0);
    Comparison &comparison =
        lightnet::expect(trial, "state", scale * lightnet::largest({state->data.data(), state->data.size()}),
                         lightnet::layer_limit);
    for (size_t b = 0; b < batch; ++b)
        for (size_t i = 0; i < dk; ++i) {
            std::vector<float> numbers, expected;
            for (size_t t = 0; t < rows; ++t) {
                const float *row = x->data.data() + (b * rows + t) * width;
                numbers.insert(numbers.end(), row, row + width);
                for (size_t other = 0; other < dk; ++other) numbers.push_back(other == i ? 1.0f : 0.0f);
                const double phase = theta ? static_cast<double>(t) * theta->data[i] : 0;
                for (size_t h = 0; h < heads; ++h)
                    for (size_t c = 0; c < dv; ++c) {
                        const float *matrix =
                            state->data.data() + ((b * heads + h) * state->shape[2]) * dv + c;
                        double value = std::cos(phase) * matrix[i * dv];
                        if (theta) value += std::sin(phase) * matrix[(i + dk) * dv];
                        expected.push_back(static_cast<float>(scale * value));
                    }
            }
            lightnet::add_sequence(trial, rows, std::move(numbers));
            comparison.reference.push_back(std::move(expected));
        }
    return trial;
}

json with_prefix(json layer, const std::string &prefix) {
    layer["prefix"] = prefix;
    return layer;
}

json residual(const std::string &name, json norm, json layer) {
    return {{"type", "residual"},
            {"name", name},
            {"norm", std::move(norm)},
            {"layers", json::array({std::move(layer)})}};
}

// Keys of the two libraries.
struct Names {
    std::string embedding, token_norm, token, channel_norm, channel, final_norm;
    json mlp; // keys of the gated_mlp, behind the channel prefix
};

const Names fla_names{"model.embeddings",
                      "attn_norm",
                      "attn",
                      "mlp_norm",
                      "mlp",
                      "model.norm",
                      {{"w1.weight", ".gate_proj.weight"},
                       {"w2.weight", ".up_proj.weight"},
                       {"w3.weight", ".down_proj.weight"}}};
const Names xmixers_names{"model.embed_tokens", "token_norm",       "token_mixer", "channel_norm",
                          "channel_mixer",      "model.final_norm", json::object()};

} // namespace

Expected<std::vector<Trial>> lightnet_attention_trials(const Fixture &fixture) {
    LW_ASSIGN(const json layer, lightnet::attention(fixture, "", "attention.lrpe.theta"));
    json here = layer;
    for (auto &[parameter, key] : here["keys"].items())
        if (parameter != "lrpe.theta") key = "attention." + key.get<std::string>();
    std::vector<Trial> trials;
    if (fixture.has("ref.y")) {
        LW_ASSIGN(Trial trial, attention_trial(fixture, here));
        trials.push_back(std::move(trial));
    }
    if (fixture.has("ref.state")) {
        LW_ASSIGN(Trial trial, state_trial(fixture, here));
        trials.push_back(std::move(trial));
    }
    return trials;
}

Expected<std::vector<Trial>> lightnet_model_trials(const Fixture &fixture) {
    const json &config = fixture.config;
    const Names &names = config.at("impl") == "fla" ? fla_names : xmixers_names;
    LW_ASSIGN(const package::Tensor *ids, fixture.tensor("in.ids", 2));
    LW_ASSIGN(const package::Tensor *table, fixture.tensor("w." + names.embedding + ".weight", 2));
    const size_t width = config.at("d_model");
    if (config.value("embed_scale", 1.0) != 1.0) return Status::input("embed_scale is not supported");
    const double eps = config.contains("norm_eps_on_sum")
                           ? config["norm_eps_on_sum"].get<double>() / static_cast<double>(width)
                           : config.at("norm_eps").get<double>();
    const json norm = {{"type", "rms_norm"}, {"eps", eps}};
    json layers = json::array({{{"type", "embedding"},
                                {"name", "embed"},
                                {"prefix", names.embedding},
                                {"vocabulary", table->shape[0]},
                                {"width", width}}});
    if (config.value("tpe", false))
        layers.push_back({{"type", "tpe"},
                          {"name", "tpe"},
                          {"prefix", "model.tpe"},
                          {"heads", config.at("num_heads")},
                          {"norm_eps", eps}});
    for (size_t n = 0; n < config.at("n_layers").get<size_t>(); ++n) {
        const std::string here = "model.layers." + std::to_string(n) + ".", number = std::to_string(n);
        LW_ASSIGN(json token, lightnet::attention(fixture, here + names.token + ".", "model.lrpe.theta"));
        json channel = {{"type", "gated_mlp"},
                        {"name", "mlp"},
                        {"hidden", config.at("glu_hidden")},
                        {"prefix", here + names.channel},
                        {"keys", names.mlp}};
        for (auto &[parameter, key] : channel["keys"].items())
            key = here + names.channel + key.get<std::string>();
        layers.push_back(
            residual("token." + number, with_prefix(norm, here + names.token_norm), std::move(token)));
        layers.push_back(
            residual("channel." + number, with_prefix(norm, here + names.channel_norm), std::move(channel)));
    }
    json last = with_prefix(norm, names.final_norm), head = {{"type", "linear"},
                                                             {"name", "logits"},
                                                             {"prefix", "lm_head"},
                                                             {"out_features", table->shape[0]},
                                                             {"bias", false}};
    last["name"] = "h";
    if (config.value("tied", false)) head["prefix"] = names.embedding;
    layers.push_back(std::move(last));
    layers.push_back(std::move(head));
    Trial trial;
    trial.weights = fixture.weights();
    trial.streams = config.value("causal", true);
    trial.model_json = model_json(
        fixture.name, json::array({{{"name", "ids"}, {"kind", "tokens"}, {"vocabulary", table->shape[0]}}}),
        std::move(layers), {{"h", "h"}, {"y", "logits"}});
    const size_t rows = ids->shape[1];
    for (size_t b = 0; b < ids->shape[0]; ++b) {
        cli::Sequence sequence;
        sequence.rows = rows;
        sequence.floats.resize(1);
        sequence.ids = {
            std::vector<int32_t>(ids->data.begin() + b * rows, ids->data.begin() + (b + 1) * rows)};
        trial.sequences.push_back(std::move(sequence));
    }
    trial.length = static_cast<uint32_t>(rows);
    const double limit =
        fixture.operation.starts_with("stream.") ? lightnet::stream_limit : lightnet::model_limit;
    for (const char *what : {"h", "y"}) LW_TRY(lightnet::expect_all(fixture, what, limit, trial));
    return std::vector<Trial>{std::move(trial)};
}

} // namespace longwave::oracles
