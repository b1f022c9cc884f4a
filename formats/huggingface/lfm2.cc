// LFM2 (Liquid AI), Lfm2ForCausalLM of transformers: short convolutions between two gates beside attention.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"

namespace longwave::huggingface {
namespace {

const std::vector<TensorRow> lfm2_tensors = {
    {"operator_norm.weight", {"hidden_size"}},
    {"ffn_norm.weight", {"hidden_size"}},
    {"feed_forward.w1.weight", {"inner", "hidden_size"}},
    {"feed_forward.w3.weight", {"inner", "hidden_size"}},
    {"feed_forward.w2.weight", {"hidden_size", "inner"}},
};

// `mixed`: the row that the first part makes.
std::vector<Row> lfm2_feed_forward(const std::string &mixed) {
    return {{"residual", "add", {value("x"), value(mixed)}},
            norm("ffn_norm", "residual", tensor("ffn_norm.weight"), "norm_eps"),
            projection("feed_forward/w1", "ffn_norm"),
            projection("feed_forward/w3", "ffn_norm"),
            {"feed_forward/silu", "silu", {value("feed_forward/w1")}},
            {"feed_forward/gated", "mul", {value("feed_forward/silu"), value("feed_forward/w3")}},
            projection("feed_forward/w2", "feed_forward/gated"),
            {"feed_forward", "add", {value("residual"), value("feed_forward/w2")}}};
}

Block lfm2_convolution() {
    Block block{.name = "conv"};
    block.tensors = projection_tensors("conv/in_proj", "3 * hidden_size", "hidden_size", "conv_bias");
    append(block.tensors, short_convolution_tensors("conv/conv", "hidden_size", "conv_L_cache", "conv_bias"));
    append(block.tensors, projection_tensors("conv/out_proj", "hidden_size", "hidden_size", "conv_bias"));
    append(block.tensors, lfm2_tensors);
    block.rows = {norm("operator_norm", "x", tensor("operator_norm.weight"), "norm_eps"),
                  projection("conv/in_proj", "operator_norm", "conv_bias"),
                  taken("conv/B", "conv/in_proj", "0", "hidden_size"),
                  taken("conv/C", "conv/in_proj", "hidden_size", "hidden_size"),
                  taken("conv/values", "conv/in_proj", "2 * hidden_size", "hidden_size"),
                  {"conv/gated", "mul", {value("conv/B"), value("conv/values")}},
                  short_convolution("conv/conv", "conv/gated", "hidden_size", "conv_bias"),
                  {"conv/read", "mul", {value("conv/C"), value("conv/conv")}},
                  projection("conv/out_proj", "conv/read", "conv_bias")};
    append(block.rows, lfm2_feed_forward("conv/out_proj"));
    return block;
}

Block lfm2_attention() {
    Block block{.name = "attention"};
    block.tensors = query_key_value_tensors("self_attn");
    append(block.tensors, projection_tensors("self_attn/out_proj", "hidden_size", query_width));
    append(block.tensors,
           {{"self_attn.q_layernorm.weight", {"head_dim"}}, {"self_attn.k_layernorm.weight", {"head_dim"}}});
    append(block.tensors, lfm2_tensors);
    block.rows = {norm("operator_norm", "x", tensor("operator_norm.weight"), "norm_eps")};
    append(block.rows, query_key_value("self_attn", "operator_norm"));
    append(block.rows, {norm("self_attn/q_layernorm", "self_attn/q_proj",
                             repeated("self_attn.q_layernorm.weight", "num_attention_heads"), "norm_eps",
                             "num_attention_heads"),
                        norm("self_attn/k_layernorm", "self_attn/k_proj",
                             repeated("self_attn.k_layernorm.weight", "num_key_value_heads"), "norm_eps",
                             "num_key_value_heads")});
    append(
        block.rows,
        attention({.at = "self_attn", .queries = "self_attn/q_layernorm", .keys = "self_attn/k_layernorm"}));
    block.rows.push_back(projection("self_attn/out_proj", "self_attn/attention"));
    append(block.rows, lfm2_feed_forward("self_attn/out_proj"));
    return block;
}

} // namespace

Architecture lfm2() {
    using Kind = Key::Kind;
    const LanguageModel model = {.norm = "model.embedding_norm", .eps = "norm_eps"};
    Architecture made{.model_type = "lfm2", .made_by = "Lfm2ForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "model.layers";
    made.keys = {
        {"vocab_size"},
        {"hidden_size", Kind::size, "", 1, most_width},
        {.name = "intermediate_size", .high = most_width, .alias = "block_ff_dim"},
        {"num_hidden_layers", Kind::size, "", 1, most_blocks},
        {"num_attention_heads", Kind::size, "", 1, most_heads},
        {"num_key_value_heads", Kind::size, "", 1, most_heads},
        head_dim(),
        {"norm_eps", Kind::number, "1e-5", 0, 1},
        {"conv_bias", Kind::flag, "false"},
        {"conv_L_cache", Kind::size, "3", 1, 64},
        {"block_auto_adjust_ff_dim", Kind::flag, "true"},
        {"block_ffn_dim_multiplier", Kind::number, "1", 0, 1 << 10},
        {"block_multiple_of", Kind::size, "256", 1, most_width},
        rotary_positions(),
        {.name = "tie_word_embeddings", .kind = Kind::flag, .fallback = "true", .alias = "tie_embedding"}};
    made.rotary = {.theta = 1'000'000};
    // What older files hold beside the keys that count.
    made.ignored = {"block_dim",
                    "block_mlp_init_scale",
                    "block_norm_eps",
                    "block_out_init_scale",
                    "block_use_swiglu",
                    "block_use_xavier_init",
                    "conv_dim",
                    "conv_dim_out",
                    "conv_use_xavier_init",
                    "num_heads",
                    "use_pos_enc"};
    append(made.ignored, ignored_by_attention());
    made.derived = attention_sizes();
    append(
        made.derived,
        {{.name = "inner", .of = "intermediate_size"},
         {.name = "inner", .of = "2 * intermediate_size", .divisor = "3", .when = "block_auto_adjust_ff_dim"},
         {.name = "inner",
          .of = "inner",
          .factor = "block_ffn_dim_multiplier",
          .when = "block_auto_adjust_ff_dim"},
         {.name = "units",
          .of = "inner",
          .divisor = "block_multiple_of",
          .up = true,
          .when = "block_auto_adjust_ff_dim"},
         {.name = "inner", .of = "units * block_multiple_of", .when = "block_auto_adjust_ff_dim"}});
    made.conditions = attention_conditions();
    made.kinds = {{KindRule::Kind::list, "layer_types", {{"conv", "conv"}, {"full_attention", "attention"}}},
                  {KindRule::Kind::places, "full_attn_idxs", {{"", "attention"}, {"", "conv"}}}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.blocks = {lfm2_convolution(), lfm2_attention()};
    made.after = rows_after(model);
    return made;
}

} // namespace longwave::huggingface
