// Granite 4 without experts (IBM), GraniteMoeHybridForCausalLM of transformers: Mamba-2 beside attention.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"
#include "formats/huggingface/mamba2_mixer.h"

namespace longwave::huggingface {
namespace {

const std::vector<TensorRow> granite_tensors = {
    {"input_layernorm.weight", {"hidden_size"}},
    {"post_attention_layernorm.weight", {"hidden_size"}},
    {"shared_mlp.input_linear.weight", {"2 * shared_intermediate_size", "hidden_size"}},
    {"shared_mlp.output_linear.weight", {"hidden_size", "shared_intermediate_size"}}};

Row granite_input() { return norm("input_layernorm", "x", tensor("input_layernorm.weight"), "rms_norm_eps"); }

// What a part adds is `residual_multiplier` times what it makes.
std::vector<Row> granite_added(const std::string &name, const std::string &to, const std::string &made) {
    return {scaled(name + "_scaled", made, "residual_multiplier", "hidden_size", "residual_multiplier"),
            {name, "add", {value(to), value(name + "_scaled")}}};
}

std::vector<Row> granite_feed_forward(const std::string &mixed) {
    std::vector<Row> rows = granite_added("residual", "x", mixed);
    const std::string inner = "shared_intermediate_size";
    append(rows, {norm("post_attention_layernorm", "residual", tensor("post_attention_layernorm.weight"),
                       "rms_norm_eps"),
                  projection("shared_mlp/input_linear", "post_attention_layernorm"),
                  taken("shared_mlp/gate", "shared_mlp/input_linear", "0", inner),
                  taken("shared_mlp/up", "shared_mlp/input_linear", inner, inner),
                  {"shared_mlp/activated", "=hidden_act", {value("shared_mlp/gate")}},
                  {"shared_mlp/gated", "mul", {value("shared_mlp/activated"), value("shared_mlp/up")}},
                  projection("shared_mlp/output_linear", "shared_mlp/gated")});
    append(rows, granite_added("shared_mlp", "residual", "shared_mlp/output_linear"));
    return rows;
}

Block granite_mamba2() {
    const Mamba2Mixer mixer = {.at = "mamba",
                               .from = "input_layernorm",
                               .heads = "mamba_n_heads",
                               .head_dim = "mamba_d_head",
                               .groups = "mamba_n_groups",
                               .state = "mamba_d_state",
                               .taps = "mamba_d_conv",
                               .eps = "rms_norm_eps",
                               .bias = "mamba_proj_bias",
                               .bias_out = "mamba_proj_bias",
                               .bias_of_taps = "mamba_conv_bias"};
    Block block{.name = "mamba2", .tensors = granite_tensors};
    append(block.tensors, tensors_of(mixer));
    block.rows = {granite_input()};
    append(block.rows, rows_of(mixer));
    append(block.rows, granite_feed_forward("mamba/out_proj"));
    return block;
}

Block granite_attention() {
    const std::string bias = "attention_bias";
    Block block{.name = "attention", .tensors = granite_tensors};
    append(block.tensors, query_key_value_tensors("self_attn", bias));
    append(block.tensors, projection_tensors("self_attn/o_proj", "hidden_size", query_width, bias));
    block.rows = {granite_input()};
    append(block.rows, query_key_value("self_attn", "input_layernorm", bias));
    append(block.rows, attention({.at = "self_attn", .scale = "attention_multiplier"}));
    block.rows.push_back(projection("self_attn/o_proj", "self_attn/attention", bias));
    append(block.rows, granite_feed_forward("self_attn/o_proj"));
    return block;
}

} // namespace

Architecture granitemoehybrid() {
    using Kind = Key::Kind;
    const LanguageModel model;
    Architecture made{.model_type = "granitemoehybrid", .made_by = "GraniteMoeHybridForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "model.layers";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"num_attention_heads", Kind::size, "", 1, most_heads},
                 key_value_heads(),
                 head_dim(),
                 {"shared_intermediate_size", Kind::size, "1024", 1, most_width},
                 {"hidden_act", Kind::activation, "\"silu\""},
                 {"rms_norm_eps", Kind::number, "1e-6", 0, 1},
                 {"attention_bias", Kind::flag, "false"},
                 {"attention_multiplier", Kind::number, "1", -most_factor, most_factor},
                 {"embedding_multiplier", Kind::number, "1", -most_factor, most_factor},
                 {"logits_scaling", Kind::number, "1", 1 / most_factor, most_factor},
                 {"residual_multiplier", Kind::number, "1", -most_factor, most_factor},
                 {.name = "position_embedding_type",
                  .kind = Kind::choice,
                  .fallback = "null",
                  .choices = {"\"rope\"", "\"nope\"", "null"}},
                 rotary_positions(),
                 {"mamba_n_heads", Kind::size, "128", 1, most_heads},
                 {"mamba_n_groups", Kind::size, "1", 1, most_heads},
                 {"mamba_d_state", Kind::size, "256", 1, most_width},
                 {"mamba_d_conv", Kind::size, "4", 1, 64},
                 {"mamba_expand", Kind::size, "2", 1, 64},
                 {"mamba_d_head", Kind::size, "\"auto\"", 1, most_width, "mamba_expand * hidden_size",
                  "mamba_n_heads"},
                 {"mamba_conv_bias", Kind::flag, "true"},
                 {"mamba_proj_bias", Kind::flag, "false"},
                 {"time_step_limit", Kind::range, "[0, {\"__float__\": \"Infinity\"}]"},
                 {.name = "normalization_function",
                  .kind = Kind::choice,
                  .fallback = "\"rmsnorm\"",
                  .choices = {"\"rmsnorm\""}},
                 {.name = "num_local_experts",
                  .kind = Kind::choice,
                  .fallback = "8",
                  .choices = {"0"},
                  .reason = no_experts},
                 {"tie_word_embeddings", Kind::flag, "false"}};
    made.ignored = {"init_method",         "intermediate_size",    "mamba_chunk_size",
                    "num_experts_per_tok", "output_router_logits", "router_aux_loss_coef"};
    append(made.ignored, ignored_by_attention());
    made.derived = attention_sizes();
    made.derived.push_back({.name = "rotary", .of = "0", .when = "position_embedding_type"});
    made.conditions = attention_conditions();
    append(made.conditions,
           {{Condition::Kind::equal, "hidden_size * mamba_expand", "mamba_n_heads * mamba_d_head"},
            {Condition::Kind::divides, "mamba_n_heads", "mamba_n_groups"}});
    const std::vector<std::pair<std::string, std::string>> names = {{"linear_attention", "mamba2"},
                                                                    {"mamba", "mamba2"},
                                                                    {"full_attention", "attention"},
                                                                    {"attention", "attention"}};
    made.kinds = {{KindRule::Kind::list, "layer_types", names},
                  {KindRule::Kind::list, "layers_block_type", names}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.before.push_back(scaled("embedding_multiplier", model.table, "embedding_multiplier", "hidden_size",
                                 "embedding_multiplier"));
    made.blocks = {granite_mamba2(), granite_attention()};
    made.after = rows_after(model);
    made.after.push_back(
        scaled("logits_scaling", "lm_head", "1 / logits_scaling", "vocab_size", "logits_scaling"));
    return made;
}

} // namespace longwave::huggingface
