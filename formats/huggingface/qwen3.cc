// Qwen3-Next and Qwen3.5 without experts (Qwen team, Alibaba): the gated delta rule beside attention with a
// gate. They differ in how the first matrices of the delta rule are stored.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"
#include "formats/huggingface/gated_delta.h"

namespace longwave::huggingface {
namespace {

const std::string qwen3_mixed_width = std::string("2 * ") + delta_key_width + " + " + delta_value_width;

std::vector<TensorRow> qwen3_tensors() {
    std::vector<TensorRow> made = {{"input_layernorm.weight", {"hidden_size"}},
                                   {"post_attention_layernorm.weight", {"hidden_size"}}};
    append(made, gated_mlp_tensors("mlp", "intermediate_size"));
    return made;
}

Row qwen3_input() { return norm("input_layernorm", "x", plus_one("input_layernorm.weight"), "rms_norm_eps"); }

// `mixed`: the row that the first part makes.
std::vector<Row> qwen3_feed_forward(const std::string &mixed) {
    std::vector<Row> rows = {{"residual", "add", {value("x"), value(mixed)}},
                             norm("post_attention_layernorm", "residual",
                                  plus_one("post_attention_layernorm.weight"), "rms_norm_eps")};
    append(rows, gated_mlp("mlp", "post_attention_layernorm", "hidden_act"));
    rows.push_back({"mlp", "add", {value("residual"), value("mlp/down_proj")}});
    return rows;
}

Block qwen3_attention() {
    Block block{.name = "attention", .tensors = qwen3_tensors()};
    const std::string bias = "attention_bias";
    append(block.tensors, query_key_value_tensors("self_attn", bias, std::string("2 * ") + query_width));
    append(block.tensors, projection_tensors("self_attn/o_proj", "hidden_size", query_width, bias));
    append(block.tensors,
           {{"self_attn.q_norm.weight", {"head_dim"}}, {"self_attn.k_norm.weight", {"head_dim"}}});
    // Each head has its query and then its gate.
    const auto part = [](const std::string &first) {
        return grouped_places({{first, "head_dim"}}, "num_attention_heads", "2 * head_dim");
    };
    block.rows = {qwen3_input()};
    append(block.rows, query_key_value("self_attn", "input_layernorm", bias));
    append(block.rows, {taken("self_attn/queries", "self_attn/q_proj", part("0")),
                        taken("self_attn/gate", "self_attn/q_proj", part("head_dim")),
                        norm("self_attn/q_norm", "self_attn/queries",
                             plus_one("self_attn.q_norm.weight", "num_attention_heads"), "rms_norm_eps",
                             "num_attention_heads"),
                        norm("self_attn/k_norm", "self_attn/k_proj",
                             plus_one("self_attn.k_norm.weight", "num_key_value_heads"), "rms_norm_eps",
                             "num_key_value_heads")});
    append(block.rows,
           attention({.at = "self_attn", .queries = "self_attn/q_norm", .keys = "self_attn/k_norm"}));
    append(block.rows,
           {{"self_attn/sigmoid", "sigmoid", {value("self_attn/gate")}},
            {"self_attn/gated", "mul", {value("self_attn/attention"), value("self_attn/sigmoid")}},
            projection("self_attn/o_proj", "self_attn/gated", bias)});
    append(block.rows, qwen3_feed_forward("self_attn/o_proj"));
    return block;
}

// `first`: rows from input_layernorm to linear_attn/mixed, linear_attn/z, linear_attn/b and linear_attn/a.
Block qwen3_delta(std::vector<TensorRow> first_tensors, const std::vector<Row> &first) {
    const GatedDelta rule = {.at = "linear_attn",
                             .queries = "linear_attn/queries",
                             .keys = "linear_attn/keys",
                             .values = "linear_attn/values",
                             .beta = "linear_attn/b",
                             .step = "linear_attn/a_of_heads",
                             .gate = "linear_attn/z",
                             .norm = "linear_attn/norm",
                             .eps = "rms_norm_eps"};
    Block block{.name = "delta", .tensors = qwen3_tensors()};
    append(block.tensors, first_tensors);
    append(block.tensors,
           short_convolution_tensors("linear_attn/conv1d", qwen3_mixed_width, "linear_conv_kernel_dim"));
    append(block.tensors, gated_delta_tensors(rule));
    append(block.tensors, projection_tensors("linear_attn/out_proj", "hidden_size", delta_value_width));
    block.rows = {qwen3_input()};
    append(block.rows, first);
    const std::string keys = delta_key_width;
    append(block.rows,
           {short_convolution("linear_attn/conv1d", "linear_attn/mixed", qwen3_mixed_width),
            {"linear_attn/activated", "=hidden_act", {value("linear_attn/conv1d")}},
            taken("linear_attn/queries", "linear_attn/activated", "0", keys),
            taken("linear_attn/keys", "linear_attn/activated", keys, keys),
            taken("linear_attn/values", "linear_attn/activated", "2 * " + keys, delta_value_width)});
    append(block.rows, gated_delta(rule));
    block.rows.push_back(projection("linear_attn/out_proj", "linear_attn/gated"));
    append(block.rows, qwen3_feed_forward("linear_attn/out_proj"));
    return block;
}

// One matrix for q, k, v and z, and one for b and a; each with the parts of one head of keys beside each
// other.
Block qwen3_next_delta() {
    const std::string keys = "linear_key_head_dim", values = "value_group * linear_value_head_dim",
                      group = "2 * " + keys + " + 2 * " + values;
    std::vector<TensorRow> tensors = projection_tensors(
        "linear_attn/in_proj_qkvz", qwen3_mixed_width + " + " + delta_value_width, "hidden_size");
    append(tensors,
           projection_tensors("linear_attn/in_proj_ba", "2 * linear_num_value_heads", "hidden_size"));
    const auto part = [&](const std::string &name, const std::string &first, const std::string &count) {
        return taken("linear_attn/" + name, "linear_attn/in_proj_qkvz",
                     grouped_places({{first, count}}, "linear_num_key_heads", group));
    };
    const auto of_heads = [&](const std::string &name, const std::string &first) {
        return taken("linear_attn/" + name, "linear_attn/in_proj_ba",
                     grouped_places({{first, "value_group"}}, "linear_num_key_heads", "2 * value_group"));
    };
    return qwen3_delta(tensors, {projection("linear_attn/in_proj_qkvz", "input_layernorm"),
                                 projection("linear_attn/in_proj_ba", "input_layernorm"),
                                 part("q", "0", keys),
                                 part("k", keys, keys),
                                 part("v", "2 * " + keys, values),
                                 part("z", "2 * " + keys + " + " + values, values),
                                 {"linear_attn/mixed",
                                  "concat",
                                  {value("linear_attn/q"), value("linear_attn/k"), value("linear_attn/v")}},
                                 of_heads("b", "0"),
                                 of_heads("a_of_heads", "value_group")});
}

// A matrix for q, k and v, and one each for z, b and a.
Block qwen3_5_delta() {
    std::vector<TensorRow> tensors =
        projection_tensors("linear_attn/in_proj_qkv", qwen3_mixed_width, "hidden_size");
    append(tensors, projection_tensors("linear_attn/in_proj_z", delta_value_width, "hidden_size"));
    append(tensors, projection_tensors("linear_attn/in_proj_b", "linear_num_value_heads", "hidden_size"));
    append(tensors, projection_tensors("linear_attn/in_proj_a", "linear_num_value_heads", "hidden_size"));
    const auto part = [](const std::string &name, const std::string &tensors) {
        Row row = projection("linear_attn/" + tensors, "input_layernorm");
        row.name = "linear_attn/" + name;
        return row;
    };
    return qwen3_delta(tensors, {part("mixed", "in_proj_qkv"), part("z", "in_proj_z"), part("b", "in_proj_b"),
                                 part("a_of_heads", "in_proj_a")});
}

Architecture qwen3(const std::string &model_type, const std::string &made_by, const Block &delta) {
    using Kind = Key::Kind;
    const LanguageModel model = {.plus_one = true};
    Architecture made{.model_type = model_type, .made_by = made_by};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "model.layers";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"intermediate_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"num_attention_heads", Kind::size, "", 1, most_heads},
                 {"num_key_value_heads", Kind::size, "", 1, most_heads},
                 {"head_dim", Kind::size, "256", 1, most_width},
                 {"hidden_act", Kind::activation, "\"silu\""},
                 {"rms_norm_eps", Kind::number, "1e-6", 0, 1},
                 {"attention_bias", Kind::flag, "false"},
                 rotary_positions(),
                 {"tie_word_embeddings", Kind::flag, "false"}};
    append(made.keys, gated_delta_keys());
    made.rotary = {.part = 0.25, .in_part = true};
    made.ignored = ignored_by_attention();
    made.derived = attention_sizes();
    append(made.derived, gated_delta_sizes());
    made.conditions = attention_conditions();
    append(made.conditions, gated_delta_conditions());
    made.kinds = {
        {KindRule::Kind::list,
         "layer_types",
         {{"linear_attention", "delta"}, {"full_attention", "attention"}}},
        {KindRule::Kind::interval, "full_attention_interval", {{"", "delta"}, {"", "attention"}}, "4"}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.blocks = {delta, qwen3_attention()};
    made.after = rows_after(model);
    made.skipped = {{"mtp.", "a part that guesses further tokens"}};
    return made;
}

} // namespace

Architecture qwen3_next() {
    Architecture made = qwen3("qwen3_next", "Qwen3NextForCausalLM", qwen3_next_delta());
    made.keys.push_back({.name = "num_experts",
                         .kind = Key::Kind::choice,
                         .fallback = "512",
                         .choices = {"0"},
                         .reason = no_experts});
    append(made.ignored, {"decoder_sparse_step", "mlp_only_layers", "moe_intermediate_size", "norm_topk_prob",
                          "num_experts_per_tok", "output_router_logits", "router_aux_loss_coef",
                          "shared_expert_intermediate_size"});
    return made;
}

Architecture qwen3_5_text() {
    Architecture made = qwen3("qwen3_5_text", "Qwen3_5ForCausalLM", qwen3_5_delta());
    made.keys.push_back(
        {.name = "attn_output_gate", .kind = Key::Kind::choice, .fallback = "true", .choices = {"true"}});
    append(made.ignored,
           {"mamba_ssm_dtype", "mlp_only_layers", "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"});
    // Positions in time, height and width are the same for text.
    made.rotary.ignored = {"mrope_interleaved", "mrope_section"};
    made.skipped.push_back({"model.visual.", "a part that sees"});
    return made;
}

// The same within a model that also sees. It takes text here: its other part is left out.
Architecture qwen3_5() {
    Architecture made = qwen3_5_text();
    made.model_type = "qwen3_5";
    made.made_by = "Qwen3_5ForConditionalGeneration";
    made.within = "text_config";
    made.inner_type = "qwen3_5_text";
    made.outside = {"image_token_id", "video_token_id", "vision_config", "vision_end_token_id",
                    "vision_start_token_id"};
    const LanguageModel model = {
        .table = "model.language_model.embed_tokens", .norm = "model.language_model.norm", .plus_one = true};
    made.prefix = "model.language_model.layers";
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.after = rows_after(model);
    return made;
}

} // namespace longwave::huggingface
