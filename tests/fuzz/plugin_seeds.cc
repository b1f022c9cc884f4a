#include "tests/fuzz/plugin_seeds.h"
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

using nlohmann::json;

namespace longwave::fuzz {
namespace {

constexpr size_t n_weights = 28;

json config() {
    const json layers = {{"input_size", 1},  {"condition_size", 1},  {"channels", 2},
                         {"head_size", 1},   {"head_bias", true},    {"kernel_size", 3},
                         {"dilations", {2}}, {"activation", "Tanh"}, {"gated", false}};
    return {{"layers", json::array({layers})}, {"head", nullptr}, {"head_scale", 0.02}};
}

json capture(const json &of) {
    std::vector<float> weights;
    for (size_t i = 0; i < n_weights; ++i) weights.push_back(0.25f * static_cast<float>(i) - 3);
    return {{"version", "0.5.4"},
            {"architecture", "WaveNet"},
            {"config", of},
            {"sample_rate", 48000},
            {"weights", weights}};
}

// The same in the words of version 0.7.
json newer_config() {
    json made = config();
    json &layers = made["layers"][0];
    layers.erase("head_size");
    layers.erase("head_bias");
    layers.erase("gated");
    layers.erase("kernel_size");
    layers["kernel_sizes"] = {3};
    layers["activation"] = json::array({{{"type", "Tanh"}}});
    layers["gating_mode"] = {"none"};
    layers["secondary_activation"] = {nullptr};
    layers["head"] = {{"out_channels", 1}, {"kernel_size", 1}, {"bias", true}};
    layers["bottleneck"] = 2;
    layers["layer1x1"] = {{"active", true}, {"groups", 1}};
    layers["head1x1"] = {{"active", false}};
    layers["conv_pre_film"] = {{"active", false}};
    return made;
}

// Of 32-bit floats, 40 samples of each channel.
std::string wav(uint16_t channels, uint32_t rate) {
    std::string made = "RIFF....WAVEfmt ";
    const auto add = [&](auto value) { made.append(reinterpret_cast<const char *>(&value), sizeof value); };
    const uint32_t frame = 4 * channels, bytes = 40 * frame;
    add(uint32_t{16});
    add(uint16_t{3});
    add(channels);
    add(rate);
    add(frame * rate);
    add(static_cast<uint16_t>(frame));
    add(uint16_t{32});
    made += "data";
    add(bytes);
    for (uint32_t i = 0; i < 40u * channels; ++i) add(1.0f / static_cast<float>(i + 1));
    const auto size = static_cast<uint32_t>(made.size() - 8);
    std::memcpy(made.data() + 4, &size, sizeof size);
    return made;
}

} // namespace

std::string capture_map() {
    const json shape_of_a = {{"name", "a"}, {"shape", {2, 1}}, {"from", 0}, {"scaled", 0}};
    const json shape_of_b = {{"name", "b"}, {"shape", {2}}, {"from", 24}, {"scaled", 1}};
    return json{{"architecture", "WaveNet"},
                {"config", config()},
                {"weights", n_weights},
                {"remembers", 5},
                {"tensors", {shape_of_a, shape_of_b}}}
        .dump();
}

std::map<std::string, std::string> plugin_seeds() {
    std::map<std::string, std::string> seeds;
    const json old = capture(config());
    const json inside = json::array({{{"max_value", 1}, {"model", old}}});
    const json container = {{"version", "0.7.0"},
                            {"architecture", "SlimmableContainer"},
                            {"config", {{"submodels", inside}}},
                            {"weights", json::array()}};
    seeds["capture/one"] = old.dump();
    seeds["capture/newer"] = capture(newer_config()).dump();
    seeds["capture/container"] = container.dump();
    seeds["capture/and_map"] = old.dump() + '\0' + capture_map();
    for (const uint16_t channels : {1, 2, 4})
        for (const uint32_t rate : {44100u, 48000u})
            seeds["response/wav" + std::to_string(channels) + "_" + std::to_string(rate)] =
                '\1' + wav(channels, rate);
    for (const char *word : {"version",      "architecture", "config",         "weights",
                             "sample_rate",  "layers",       "dilations",      "channels",
                             "activation",   "type",         "negative_slope", "kernel_size",
                             "kernel_sizes", "gated",        "gating_mode",    "secondary_activation",
                             "head",         "head_size",    "head_bias",      "head_scale",
                             "bottleneck",   "layer1x1",     "head1x1",        "conv_pre_film",
                             "submodels",    "model",        "tensors",        "shape",
                             "from",         "scaled",       "remembers",      "SlimmableContainer",
                             "WaveNet",      "LSTM",         "LeakyReLU",      "none"})
        seeds["capture.dict"] += std::string("\"\\\"") + word + "\\\"\"\n";
    seeds["capture.dict"] += "\"null\"\n\"true\"\n\"1e39\"\n\"-1\"\n\"[\"\n\"]\"\n\"{\"\n\"}\"\n\"\\x00\"\n";
    return seeds;
}

} // namespace longwave::fuzz
