// Small configurations in which everything is right, and tensors for them.
#pragma once
#include "formats/huggingface/build.h"
#include <map>
#include <string>

namespace longwave::tests {

inline nlohmann::json small_config(const std::string &model_type) {
    nlohmann::json config = {{"model_type", model_type},        {"vocab_size", 11}, {"hidden_size", 6},
                             {"num_hidden_layers", 2},          {"state_size", 3},  {"time_step_rank", 2},
                             {"transformers_version", "5.23.0"}};
    if (model_type == "mamba2") {
        config["architectures"] = {"Mamba2ForCausalLM"};
        config.update({{"num_heads", 4}, {"head_dim", 3}, {"n_groups", 2}});
        config["time_step_limit"] = nlohmann::json::array({0.0, {{"__float__", "Infinity"}}});
    } else {
        config["architectures"] = {model_type == "mamba" ? "MambaForCausalLM" : "FalconMambaForCausalLM"};
    }
    return config;
}

// A tensor of the shape that the configuration asks for: small numbers that differ.
inline std::map<std::string, package::Tensor> tensors_for(const huggingface::Config &config) {
    std::map<std::string, package::Tensor> tensors;
    float next = 0;
    for (const auto &[key, shape] : huggingface::tensors_of(config)) {
        uint64_t n = 1;
        for (const uint64_t extent : shape) n *= extent;
        std::vector<float> values(n);
        for (float &value : values) value = next = next < 0.9f ? next + 0.0625f : -0.875f;
        tensors[key] = {shape, FloatArray(std::move(values))};
    }
    return tensors;
}

} // namespace longwave::tests
