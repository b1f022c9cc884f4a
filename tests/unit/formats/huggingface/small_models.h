// Small configurations in which everything is right, and tensors for them.
#pragma once
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/build.h"
#include <map>
#include <string>

namespace longwave::tests {

// Keys that only some model types have; with them every table has blocks of all of its kinds that are read.
inline nlohmann::json small_parts(const std::string &model_type) {
    using nlohmann::json;
    const json heads = {{"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 8}};
    const json kinds = {{"layer_types", {"linear_attention", "full_attention"}}};
    const json delta = {{"linear_num_key_heads", 2},
                        {"linear_num_value_heads", 4},
                        {"linear_key_head_dim", 3},
                        {"linear_value_head_dim", 2},
                        {"intermediate_size", 5}};
    const json mamba2 = {{"mamba_n_heads", 4}, {"mamba_n_groups", 2}, {"mamba_d_state", 3}};
    json parts = json::object();
    const auto with = [&](const std::vector<json> &all) {
        for (const json &one : all) parts.update(one);
    };
    if (model_type == "mamba2")
        with({json{{"num_heads", 4}, {"head_dim", 3}, {"n_groups", 2}, {"state_size", 3}},
              json{{"time_step_limit", json::array({0.0, json{{"__float__", "Infinity"}}})}}});
    else if (model_type == "mamba" || model_type == "falcon_mamba")
        with({json{{"state_size", 3}, {"time_step_rank", 2}}});
    else if (model_type == "lfm2")
        with({heads, json{{"layer_types", {"conv", "full_attention"}}, {"intermediate_size", 5}}});
    else if (model_type == "qwen3_next") with({heads, kinds, delta, json{{"num_experts", 0}}});
    else if (model_type == "qwen3_5_text" || model_type == "olmo_hybrid") with({heads, kinds, delta});
    else if (model_type == "granitemoehybrid")
        with({heads, kinds, mamba2, json{{"num_local_experts", 0}, {"shared_intermediate_size", 5}}});
    else if (model_type == "falcon_h1")
        with({heads, mamba2, json{{"mamba_d_ssm", 12}, {"intermediate_size", 5}}});
    else if (model_type == "nemotron_h")
        with({heads,
              json{{"hybrid_override_pattern", "M*-"}, {"intermediate_size", 5}, {"mamba_num_heads", 4}},
              json{{"mamba_head_dim", 3}, {"n_groups", 2}, {"ssm_state_size", 3}}});
    else if (model_type == "recurrent_gemma")
        with({heads, json{{"hidden_size", 32}, {"intermediate_size", 6}},
              json{{"block_types", {"recurrent", "attention"}}}});
    else if (model_type == "xlstm") with({json{{"num_heads", 3}, {"ffn_round_up_to_multiple_of", 4}}});
    else if (model_type == "rwkv7")
        with(
            {json{{"head_dim", 3}, {"value_dim", {12, 12}}, {"decay_low_rank_dim", 2}, {"a_low_rank_dim", 2}},
             json{{"v_low_rank_dim", 2}, {"gate_low_rank_dim", 2}, {"intermediate_size", 5}}});
    return parts;
}

inline nlohmann::json small_config(const std::string &model_type) {
    using nlohmann::json;
    const auto *known = huggingface::find_architecture(model_type);
    json config = {{"model_type", model_type},
                   {"architectures", {known->made_by}},
                   {"vocab_size", 11},
                   {"transformers_version", "5.23.0"}};
    json keys = {{"hidden_size", 6}, {"num_hidden_layers", 2}};
    if (!known->within.empty()) {
        keys.update({{"model_type", known->inner_type}, {"vocab_size", 11}});
        keys.update(small_parts(known->inner_type));
        config[known->within] = keys;
        config.erase("vocab_size");
        return config;
    }
    keys.update(small_parts(model_type));
    config.update(keys);
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
