// Falcon-H1 (Technology Innovation Institute), FalconH1ForCausalLM of transformers: each block has Mamba-2
// and attention beside each other, with factors from config.json.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"
#include "formats/huggingface/mamba2_mixer.h"

namespace longwave::huggingface {
namespace {

const Mamba2Mixer falcon_h1_mixer = {.at = "mamba",
                                     .from = "mamba/input",
                                     .heads = "mamba_n_heads",
                                     .head_dim = "mamba_d_head",
                                     .groups = "mamba_n_groups",
                                     .state = "mamba_d_state",
                                     .taps = "mamba_d_conv",
                                     .eps = "rms_norm_eps",
                                     .bias = "mamba_proj_bias",
                                     .bias_out = "projectors_bias",
                                     .bias_of_taps = "mamba_conv_bias"};

// The five parts of in_proj have a factor each. A norm is there or not, before the gate or behind it.
std::vector<Row> falcon_h1_mixer_rows() {
    std::vector<Row> rows = {
        scaled("mamba/input", "input_layernorm", "ssm_in_multiplier", "hidden_size", "ssm_in_multiplier")};
    append(rows, rows_of(falcon_h1_mixer));
    const std::string shared = "mamba_n_groups * mamba_d_state",
                      width = "2 * mamba_d_ssm + 2 * " + shared + " + mamba_n_heads";
    const Operand factors = {.kind = Operand::Kind::filled,
                             .parts = {{"ssm_multipliers.0", "mamba_d_ssm"},
                                       {"ssm_multipliers.1", "mamba_d_ssm"},
                                       {"ssm_multipliers.2", shared},
                                       {"ssm_multipliers.3", shared},
                                       {"ssm_multipliers.4", "mamba_n_heads"}}};
    insert_behind(rows, "mamba/in_proj",
                  {"mamba/projected", "affine", {value("mamba/in_proj"), factors, zeros(width)}});
    insert_behind(
        rows, "mamba/norm",
        {"mamba/gated_behind", "mul", {value("mamba/norm"), value("mamba/silu")}, {}, "!gate_first"});
    for (Row &row : rows) {
        if (row.name == "mamba/gated") row.when = "gate_first";
        if (row.name == "mamba/norm") row.when = "mamba_rms_norm";
    }
    return rows;
}

std::vector<Row> falcon_h1_attention() {
    const std::string bias = "attention_bias";
    std::vector<Row> rows = {scaled("self_attn/input", "input_layernorm", "attention_in_multiplier",
                                    "hidden_size", "attention_in_multiplier")};
    append(rows, query_key_value("self_attn", "self_attn/input", bias));
    rows.push_back(
        scaled("self_attn/keys", "self_attn/k_proj", "key_multiplier", key_width, "key_multiplier"));
    append(rows, attention({.at = "self_attn", .keys = "self_attn/keys"}));
    rows.push_back(projection("self_attn/o_proj", "self_attn/attention", bias));
    return rows;
}

Block falcon_h1_block() {
    Block block{.name = "hybrid"};
    block.tensors = {{"input_layernorm.weight", {"hidden_size"}},
                     {"pre_ff_layernorm.weight", {"hidden_size"}}};
    append(block.tensors, tensors_of(falcon_h1_mixer));
    for (TensorRow &row : block.tensors)
        if (row.name == "mamba.norm.weight") row.when = "mamba_rms_norm";
    const std::string bias = "attention_bias";
    append(block.tensors, query_key_value_tensors("self_attn", bias));
    append(block.tensors, projection_tensors("self_attn/o_proj", "hidden_size", query_width, bias));
    append(block.tensors, gated_mlp_tensors("feed_forward", "intermediate_size", "mlp_bias"));
    block.rows = {norm("input_layernorm", "x", tensor("input_layernorm.weight"), "rms_norm_eps")};
    append(block.rows, falcon_h1_mixer_rows());
    append(block.rows, falcon_h1_attention());
    append(
        block.rows,
        {scaled("mamba/output", "mamba/out_proj", "ssm_out_multiplier", "hidden_size", "ssm_out_multiplier"),
         scaled("self_attn/output", "self_attn/o_proj", "attention_out_multiplier", "hidden_size",
                "attention_out_multiplier"),
         {"both", "add", {value("mamba/output"), value("self_attn/output")}},
         {"residual", "add", {value("x"), value("both")}},
         norm("pre_ff_layernorm", "residual", tensor("pre_ff_layernorm.weight"), "rms_norm_eps")});
    append(block.rows, gated_mlp("feed_forward", "pre_ff_layernorm", "hidden_act", "mlp_bias"));
    insert_behind(block.rows, "feed_forward/gate_proj",
                  scaled("feed_forward/gate", "feed_forward/gate_proj", "mlp_multipliers.0",
                         "intermediate_size", "mlp_multipliers.0"));
    append(block.rows, {scaled("feed_forward/output", "feed_forward/down_proj", "mlp_multipliers.1",
                               "hidden_size", "mlp_multipliers.1"),
                        {"feed_forward", "add", {value("residual"), value("feed_forward/output")}}});
    return block;
}

} // namespace

Architecture falcon_h1() {
    using Kind = Key::Kind;
    const LanguageModel model = {.norm = "model.final_layernorm"};
    const auto factor = [](const std::string &name) {
        return Key{name, Kind::number, "1", -most_factor, most_factor};
    };
    const auto factors = [](const std::string &name, const std::string &count, const std::string &fallback) {
        return Key{name, Kind::numbers, fallback, -most_factor, most_factor, "", count};
    };
    Architecture made{.model_type = "falcon_h1", .made_by = "FalconH1ForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "model.layers";
    made.keys = {
        {"vocab_size"},
        {"hidden_size", Kind::size, "", 1, most_width},
        {"intermediate_size", Kind::size, "", 1, most_width},
        {"num_hidden_layers", Kind::size, "", 1, most_blocks},
        {"num_attention_heads", Kind::size, "", 1, most_heads},
        {"num_key_value_heads", Kind::size, "8", 1, most_heads, "num_attention_heads"},
        head_dim(),
        {"hidden_act", Kind::activation, "\"silu\""},
        {"rms_norm_eps", Kind::number, "1e-5", 0, 1},
        {"attention_bias", Kind::flag, "false"},
        {"mlp_bias", Kind::flag, "false"},
        {"projectors_bias", Kind::flag, "false"},
        rotary_positions(),
        {"mamba_expand", Kind::size, "2", 1, 64},
        {"mamba_d_ssm", Kind::size, "1024", 1, most_width, "mamba_expand * hidden_size"},
        {"mamba_n_heads", Kind::size, "128", 1, most_heads},
        {"mamba_d_head", Kind::size, "\"auto\"", 1, most_width, "mamba_d_ssm", "mamba_n_heads"},
        {"mamba_n_groups", Kind::size, "1", 1, most_heads},
        {"mamba_d_state", Kind::size, "256", 1, most_width},
        {"mamba_d_conv", Kind::size, "4", 1, 64},
        {"mamba_conv_bias", Kind::flag, "true"},
        {"mamba_proj_bias", Kind::flag, "false"},
        {"mamba_rms_norm", Kind::flag, "false"},
        {"mamba_norm_before_gate", Kind::flag, "true"},
        {"time_step_limit", Kind::range, "[0, {\"__float__\": \"Infinity\"}]"},
        factor("embedding_multiplier"),
        factor("lm_head_multiplier"),
        factor("key_multiplier"),
        factor("attention_in_multiplier"),
        factor("attention_out_multiplier"),
        factor("ssm_in_multiplier"),
        factor("ssm_out_multiplier"),
        factors("mlp_multipliers", "2", "[1, 1]"),
        factors("ssm_multipliers", "5", "[1, 1, 1, 1, 1]"),
        {.name = "attn_layer_indices", .kind = Kind::choice, .fallback = "null", .choices = {"null"}},
        {.name = "mamba_use_mlp", .kind = Kind::choice, .fallback = "true", .choices = {"true"}},
        {"tie_word_embeddings", Kind::flag, "false"}};
    made.ignored = {"mamba_chunk_size", "mlp_expansion_factor", "num_logits_to_keep"};
    append(made.ignored, ignored_by_attention());
    made.derived = attention_sizes();
    append(made.derived,
           {{.name = "gate_first", .of = "0"},
            {.name = "gate_first", .of = "1", .when = "mamba_rms_norm & !mamba_norm_before_gate"}});
    made.conditions = attention_conditions();
    append(made.conditions, {{Condition::Kind::equal, "mamba_d_ssm", "mamba_n_heads * mamba_d_head"},
                             {Condition::Kind::divides, "mamba_n_heads", "mamba_n_groups"}});
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.before.push_back(scaled("embedding_multiplier", model.table, "embedding_multiplier", "hidden_size",
                                 "embedding_multiplier"));
    made.blocks = {falcon_h1_block()};
    made.after = rows_after(model);
    made.after.push_back(
        scaled("lm_head_multiplier", "lm_head", "lm_head_multiplier", "vocab_size", "lm_head_multiplier"));
    return made;
}

} // namespace longwave::huggingface
