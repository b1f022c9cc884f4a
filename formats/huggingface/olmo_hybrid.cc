// OLMo Hybrid (Allen Institute for AI), OlmoHybridForCausalLM of transformers: the gated delta rule beside
// attention, whose blocks have their norms behind each part.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"
#include "formats/huggingface/gated_delta.h"

namespace longwave::huggingface {
namespace {

// The norm of this name is where the first part ends. transformers calls it post_attention_layernorm and
// stores it so.
const TensorRow olmo_middle_norm = {"feedforward_layer_norm.weight",  {"hidden_size"}, {}, "", "",
                                    "post_attention_layernorm.weight"};

Block olmo_delta() {
    const GatedDelta rule = {.at = "linear_attn",
                             .queries = "linear_attn/queries",
                             .keys = "linear_attn/keys",
                             .values = "linear_attn/values",
                             .beta = "linear_attn/b_proj",
                             .step = "linear_attn/a_proj",
                             .gate = "linear_attn/g_proj",
                             .norm = "linear_attn/o_norm",
                             .eps = "1e-5", // no key says it
                             .doubled = "linear_allow_neg_eigval"};
    Block block{.name = "delta"};
    block.tensors = {{"attention_layer_norm.weight", {"hidden_size"}, {}, "", "", "input_layernorm.weight"},
                     olmo_middle_norm};
    block.rows = {norm("attention_layer_norm", "x", tensor("attention_layer_norm.weight"), "rms_norm_eps")};
    const auto project = [&](const std::string &name, const std::string &width) {
        append(block.tensors, projection_tensors("linear_attn/" + name, width, "hidden_size"));
        block.rows.push_back(projection("linear_attn/" + name, "attention_layer_norm"));
    };
    const std::string keys = delta_key_width, values = delta_value_width,
                      all = "2 * " + keys + " + " + values;
    project("q_proj", keys);
    project("k_proj", keys);
    project("v_proj", values);
    // Released files have a tensor for each of q, k and v. transformers stores three of about the same size.
    std::vector<TensorRow> taps =
        short_convolution_tensors("linear_attn/conv1d", all, "linear_conv_kernel_dim");
    taps[0].parts = {"linear_attn.q_conv1d.weight", "linear_attn.k_conv1d.weight",
                     "linear_attn.v_conv1d.weight"};
    append(block.tensors, taps);
    append(block.rows,
           {{"linear_attn/mixed",
             "concat",
             {value("linear_attn/q_proj"), value("linear_attn/k_proj"), value("linear_attn/v_proj")}},
            short_convolution("linear_attn/conv1d", "linear_attn/mixed", all),
            {"linear_attn/activated", "=hidden_act", {value("linear_attn/conv1d")}},
            taken("linear_attn/queries", "linear_attn/activated", "0", keys),
            taken("linear_attn/keys", "linear_attn/activated", keys, keys),
            taken("linear_attn/values", "linear_attn/activated", "2 * " + keys, values)});
    project("a_proj", "linear_num_value_heads");
    project("b_proj", "linear_num_value_heads");
    project("g_proj", values);
    append(block.tensors, gated_delta_tensors(rule));
    append(block.tensors, projection_tensors("linear_attn/o_proj", "hidden_size", delta_value_width));
    append(block.tensors, gated_mlp_tensors("mlp", "intermediate_size"));
    append(block.rows, gated_delta(rule));
    append(block.rows, {projection("linear_attn/o_proj", "linear_attn/gated"),
                        {"residual", "add", {value("x"), value("linear_attn/o_proj")}},
                        norm("feedforward_layer_norm", "residual", tensor("feedforward_layer_norm.weight"),
                             "rms_norm_eps")});
    append(block.rows, gated_mlp("mlp", "feedforward_layer_norm", "hidden_act"));
    block.rows.push_back({"mlp", "add", {value("residual"), value("mlp/down_proj")}});
    return block;
}

Block olmo_attention() {
    const std::string bias = "attention_bias";
    Block block{.name = "attention"};
    block.tensors = {olmo_middle_norm,
                     {"post_feedforward_layernorm.weight", {"hidden_size"}},
                     {"self_attn.q_norm.weight", {query_width}},
                     {"self_attn.k_norm.weight", {key_width}}};
    append(block.tensors, query_key_value_tensors("self_attn", bias));
    append(block.tensors, projection_tensors("self_attn/o_proj", "hidden_size", query_width, bias));
    append(block.tensors, gated_mlp_tensors("mlp", "intermediate_size"));
    block.rows = query_key_value("self_attn", "x", bias);
    append(block.rows,
           {norm("self_attn/q_norm", "self_attn/q_proj", tensor("self_attn.q_norm.weight"), "rms_norm_eps"),
            norm("self_attn/k_norm", "self_attn/k_proj", tensor("self_attn.k_norm.weight"), "rms_norm_eps")});
    append(block.rows,
           attention({.at = "self_attn", .queries = "self_attn/q_norm", .keys = "self_attn/k_norm"}));
    append(block.rows, {projection("self_attn/o_proj", "self_attn/attention", bias),
                        norm("feedforward_layer_norm", "self_attn/o_proj",
                             tensor("feedforward_layer_norm.weight"), "rms_norm_eps"),
                        {"residual", "add", {value("x"), value("feedforward_layer_norm")}}});
    append(block.rows, gated_mlp("mlp", "residual", "hidden_act"));
    append(block.rows, {norm("post_feedforward_layernorm", "mlp/down_proj",
                             tensor("post_feedforward_layernorm.weight"), "rms_norm_eps"),
                        {"mlp", "add", {value("residual"), value("post_feedforward_layernorm")}}});
    return block;
}

} // namespace

Architecture olmo_hybrid() {
    using Kind = Key::Kind;
    const LanguageModel model;
    Architecture made{.model_type = "olmo_hybrid", .made_by = "OlmoHybridForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "model.layers";
    const auto of = [](const std::string &name, const std::string &rule, const std::string &divisor) {
        return Key{.name = name, .high = most_width, .rule = rule, .divisor = divisor};
    };
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"intermediate_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"num_attention_heads", Kind::size, "", 1, most_heads},
                 key_value_heads(),
                 head_dim(),
                 {"hidden_act", Kind::activation, "\"silu\""},
                 {"rms_norm_eps", Kind::number, "1e-6", 0, 1},
                 {"attention_bias", Kind::flag, "false"},
                 rotary_positions(),
                 of("linear_num_key_heads", "num_attention_heads", "1"),
                 of("linear_num_value_heads", "num_attention_heads", "1"),
                 of("linear_key_head_dim", "3 * hidden_size", "4 * linear_num_key_heads"),
                 of("linear_value_head_dim", "2 * linear_key_head_dim", "1"),
                 {"linear_conv_kernel_dim", Kind::size, "4", 1, 64},
                 {"linear_allow_neg_eigval", Kind::flag, "true"},
                 {"tie_word_embeddings", Kind::flag, "false"}};
    made.rotary = {.optional = true};
    made.ignored = {"linear_a_log_max", "linear_a_log_min", "linear_dt_init_floor", "linear_dt_max",
                    "linear_dt_min"};
    append(made.ignored, ignored_by_attention());
    made.derived = attention_sizes();
    append(made.derived, gated_delta_sizes());
    made.conditions = attention_conditions();
    append(made.conditions, gated_delta_conditions());
    made.kinds = {{KindRule::Kind::list,
                   "layer_types",
                   {{"linear_attention", "delta"}, {"full_attention", "attention"}}}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.blocks = {olmo_delta(), olmo_attention()};
    made.after = rows_after(model);
    made.skipped = {{"mtp.", "a part that guesses further tokens"}};
    return made;
}

} // namespace longwave::huggingface
