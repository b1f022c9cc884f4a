// Nemotron-H without experts (NVIDIA), NemotronHForCausalLM of transformers: each block is Mamba-2, attention
// without positions, or a feed-forward part.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"
#include "formats/huggingface/mamba2_mixer.h"

namespace longwave::huggingface {
namespace {

// The norm before the part, and what it adds to.
Block nemotron_block(const std::string &name, const std::vector<TensorRow> &tensors,
                     const std::vector<Row> &rows) {
    Block block{.name = name, .tensors = {{"norm.weight", {"hidden_size"}}}};
    append(block.tensors, tensors);
    block.rows = {norm("norm", "x", tensor("norm.weight"), "layer_norm_epsilon")};
    append(block.rows, rows);
    block.rows.push_back({"residual", "add", {value("x"), value(rows.back().name)}});
    return block;
}

Block nemotron_mamba2() {
    // Steps have a least size and no largest one; time_step_limit changes nothing.
    const Mamba2Mixer mixer = {.heads = "mamba_num_heads",
                               .head_dim = "mamba_head_dim",
                               .state = "ssm_state_size",
                               .activation = "mamba_hidden_act",
                               .least = "time_step_min",
                               .most = "1e30",
                               .limited = ""};
    return nemotron_block("mamba2", tensors_of(mixer), rows_of(mixer));
}

Block nemotron_attention() {
    std::vector<TensorRow> tensors = query_key_value_tensors("mixer");
    append(tensors, projection_tensors("mixer/o_proj", "hidden_size", query_width));
    std::vector<Row> rows = query_key_value("mixer", "norm");
    append(rows, attention({.at = "mixer", .rotary = false}));
    rows.push_back(projection("mixer/o_proj", "mixer/attention"));
    return nemotron_block("attention", tensors, rows);
}

Block nemotron_feed_forward() {
    std::vector<TensorRow> tensors =
        projection_tensors("mixer/up_proj", "intermediate_size", "hidden_size", "mlp_bias");
    append(tensors, projection_tensors("mixer/down_proj", "hidden_size", "intermediate_size", "mlp_bias"));
    return nemotron_block("mlp", tensors,
                          {projection("mixer/up_proj", "norm", "mlp_bias"),
                           {"mixer/relu", "relu", {value("mixer/up_proj")}},
                           {"mixer/square", "square", {value("mixer/relu")}, {}, "mlp_hidden_act"},
                           projection("mixer/down_proj", "mixer/square", "mlp_bias")});
}

} // namespace

Architecture nemotron_h() {
    using Kind = Key::Kind;
    const LanguageModel model = {
        .table = "backbone.embeddings", .norm = "backbone.norm_f", .eps = "layer_norm_epsilon"};
    const auto only = [](const std::string &name, const std::string &choice) {
        return Key{.name = name, .kind = Kind::choice, .fallback = choice, .choices = {choice}};
    };
    Architecture made{.model_type = "nemotron_h", .made_by = "NemotronHForCausalLM"};
    made.vocabulary = "vocab_size";
    made.prefix = "backbone.layers";
    made.keys = {
        {"vocab_size"},
        {"hidden_size", Kind::size, "", 1, most_width},
        {"intermediate_size", Kind::size, "21504", 1, most_width},
        {"num_attention_heads", Kind::size, "", 1, most_heads},
        {"num_key_value_heads", Kind::size, "8", 1, most_heads, "num_attention_heads"},
        {"head_dim", Kind::size, "128", 1, most_width},
        {"layer_norm_epsilon", Kind::number, "1e-5", 0, 1},
        {.name = "mlp_hidden_act",
         .kind = Kind::choice,
         .fallback = "\"relu2\"",
         .choices = {"\"relu\"", "\"relu2\""}},
        {"mlp_bias", Kind::flag, "false"},
        {"mamba_hidden_act", Kind::activation, "\"silu\""},
        {"mamba_num_heads", Kind::size, "128", 1, most_heads},
        {"mamba_head_dim", Kind::size, "64", 1, most_width},
        {"ssm_state_size", Kind::size, "128", 1, most_width},
        {.name = "n_groups", .fallback = "8", .high = most_heads, .alias = "mamba_n_groups"},
        {.name = "conv_kernel", .fallback = "4", .high = 64, .alias = "mamba_d_conv"},
        {.name = "use_conv_bias", .kind = Kind::flag, .fallback = "true", .alias = "mamba_conv_bias"},
        {.name = "time_step_min",
         .kind = Kind::number,
         .fallback = "0.001",
         .low = 0,
         .high = 1e6,
         .alias = "mamba_dt_min"},
        {"use_bias", Kind::flag, "false"},
        only("num_nextn_predict_layers", "0"),
        only("sliding_window", "null")};
    // The first ones are of older files, and transformers reads others instead. The last ones are of experts,
    // of which there are none.
    made.ignored = {"attention_head_dim",
                    "auto_map",
                    "rms_norm_eps",
                    "time_step_rank",
                    "attention_bias",
                    "chunk_size",
                    "expand",
                    "hidden_dropout",
                    "mamba_chunk_size",
                    "mamba_dt_init_floor",
                    "mamba_dt_limit",
                    "mamba_dt_max",
                    "mamba_expand",
                    "mamba_proj_bias",
                    "mamba_ssm_cache_dtype",
                    "mtp_hybrid_override_pattern",
                    "mtp_layers_block_type",
                    "num_hidden_layers",
                    "num_logits_to_keep",
                    "rescale_prenorm_residual",
                    "residual_in_fp32",
                    "tie_word_embeddings",
                    "time_step_floor",
                    "time_step_limit",
                    "time_step_max",
                    "use_mamba_kernels",
                    "moe_intermediate_size",
                    "moe_latent_size",
                    "moe_shared_expert_intermediate_size",
                    "moe_shared_expert_overlap",
                    "n_group",
                    "n_routed_experts",
                    "n_shared_experts",
                    "norm_topk_prob",
                    "num_experts_per_tok",
                    "output_router_logits",
                    "routed_scaling_factor",
                    "topk_group"};
    append(made.ignored, ignored_by_attention());
    made.derived = attention_sizes(false);
    made.derived.push_back(
        {"tie_word_embeddings", "0"}); // transformers ties nothing here, whatever the key says
    made.conditions = attention_conditions(false);
    made.conditions.push_back({Condition::Kind::divides, "mamba_num_heads", "n_groups"});
    const std::vector<std::pair<std::string, std::string>> names = {
        {"linear_attention", "mamba2"}, {"mamba", "mamba2"}, {"full_attention", "attention"},
        {"attention", "attention"},     {"mlp", "mlp"},      {"moe", "experts"}};
    made.kinds = {{KindRule::Kind::list, "layers_block_type", names},
                  {KindRule::Kind::list, "layer_types", names},
                  {KindRule::Kind::letters,
                   "hybrid_override_pattern",
                   {{"M", "mamba2"}, {"*", "attention"}, {"-", "mlp"}, {"E", "experts"}}}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.blocks = {nemotron_mamba2(),
                   nemotron_attention(),
                   nemotron_feed_forward(),
                   {.name = "experts", .refused = no_experts}};
    made.after = rows_after(model);
    made.skipped = {{"mtp.", "a part that guesses further tokens"}};
    return made;
}

} // namespace longwave::huggingface
