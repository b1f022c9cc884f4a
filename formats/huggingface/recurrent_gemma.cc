// RecurrentGemma (Botev et al. 2024), RecurrentGemmaForCausalLM of transformers: RG-LRU, a recurrence of each
// feature whose decay depends on the input (De et al. 2024), beside attention over a window.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/attention.h"
#include <cmath>

namespace longwave::huggingface {
namespace {

const std::vector<TensorRow> gemma_tensors = {{"temporal_pre_norm.weight", {"hidden_size"}},
                                              {"channel_pre_norm.weight", {"hidden_size"}}};

Row gemma_input() {
    return norm("temporal_pre_norm", "x", plus_one("temporal_pre_norm.weight"), "rms_norm_eps");
}

std::vector<Row> gemma_feed_forward(const std::string &mixed) {
    std::vector<Row> rows = {
        {"residual", "add", {value(mixed), value("x")}},
        norm("channel_pre_norm", "residual", plus_one("channel_pre_norm.weight"), "rms_norm_eps")};
    append(rows, gated_mlp("mlp_block", "channel_pre_norm", "hidden_activation", "1"));
    rows.push_back({"mlp_block", "add", {value("mlp_block/down_proj"), value("residual")}});
    return rows;
}

double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

// The logarithm of the decay, or that of its square, where its gate is open.
Operand log_decay() {
    return {.kind = Operand::Kind::list,
            .name = "temporal_block.rg_lru.recurrent_param",
            .of = [](double x) { return -8 * softplus(x); },
            .label = "log_decay"};
}
Operand twice_log_decay() {
    return {.kind = Operand::Kind::list,
            .name = "temporal_block.rg_lru.recurrent_param",
            .of = [](double x) { return -16 * softplus(x); },
            .label = "twice_log_decay"};
}

Row rg_lru_gate(const std::string &name) {
    const std::string tensors = "temporal_block.rg_lru." + name + "_gate";
    return {"rg_lru/" + name + "_gate",
            "block_linear",
            {value("temporal_block/conv_1d"),
             {.kind = Operand::Kind::transposed, .name = tensors + "_weight"},
             tensor(tensors + "_bias")},
            {size("bias", "1"), size("first", "0")}};
}

// h = a h + sqrt(1 - a^2) x. 1 - a^2 is -expm1(2 log a), which `elu` computes: near a = 1 a difference would
// lose most digits. The root is 1 in the first row, where -100 joins the exponent.
std::vector<Row> rg_lru() {
    const std::string width = "lru_width";
    return {
        rg_lru_gate("input"),
        rg_lru_gate("recurrent"),
        {"rg_lru/input_open", "sigmoid", {value("rg_lru/input_gate")}},
        {"rg_lru/open", "sigmoid", {value("rg_lru/recurrent_gate")}},
        {"rg_lru/log_decay", "affine", {value("rg_lru/open"), log_decay(), zeros(width)}},
        {"rg_lru/decay", "exp", {value("rg_lru/log_decay")}},
        {"rg_lru/twice", "affine", {value("rg_lru/open"), twice_log_decay(), zeros(width)}},
        taken("rg_lru/any", "rg_lru/open", "0", "1"),
        {"rg_lru/one", "affine", {value("rg_lru/any"), zeros("1"), ones("1")}},
        {"rg_lru/later", "shift", {value("rg_lru/one")}, {size("rows", "1")}}, // 0 in the first row, then 1
        {"rg_lru/first", "affine", {value("rg_lru/later"), filled("100", "1"), filled("-100", "1")}},
        taken("rg_lru/first_of_all", "rg_lru/first", "0", "1", width),
        {"rg_lru/exponent", "add", {value("rg_lru/twice"), value("rg_lru/first_of_all")}},
        {"rg_lru/expm1", "elu", {value("rg_lru/exponent")}, {number("alpha", "1")}},
        scaled("rg_lru/rest", "rg_lru/expm1", "-1", width),
        {"rg_lru/factor", "sqrt", {value("rg_lru/rest")}},
        {"rg_lru/gated", "mul", {value("temporal_block/conv_1d"), value("rg_lru/input_open")}},
        {"rg_lru/added", "mul", {value("rg_lru/gated"), value("rg_lru/factor")}},
        {"rg_lru/state", "gated_scan", {value("rg_lru/decay"), value("rg_lru/added")}}};
}

Block gemma_recurrence() {
    const std::string width = "lru_width", block_width = "block_width", heads = "num_attention_heads",
                      lru = "temporal_block.rg_lru.";
    Block block{.name = "recurrent", .tensors = gemma_tensors};
    append(block.tensors, projection_tensors("temporal_block/linear_x", width, "hidden_size", "1"));
    append(block.tensors, projection_tensors("temporal_block/linear_y", width, "hidden_size", "1"));
    append(block.tensors, projection_tensors("temporal_block/linear_out", "hidden_size", width, "1"));
    append(block.tensors, short_convolution_tensors("temporal_block/conv_1d", width, "conv1d_width", "1"));
    block.tensors.push_back({lru + "recurrent_param", {width}});
    for (const char *name : {"input", "recurrent"})
        append(block.tensors, {{lru + name + "_gate_weight", {heads, block_width, block_width}},
                               {lru + name + "_gate_bias", {heads, block_width}, {width}}});
    append(block.tensors, gated_mlp_tensors("mlp_block", "inner", "1"));
    block.rows = {gemma_input(),
                  projection("temporal_block/linear_y", "temporal_pre_norm", "1"),
                  {"temporal_block/y", "=hidden_activation", {value("temporal_block/linear_y")}},
                  projection("temporal_block/linear_x", "temporal_pre_norm", "1"),
                  short_convolution("temporal_block/conv_1d", "temporal_block/linear_x", width, "1")};
    append(block.rows, rg_lru());
    append(block.rows, {{"temporal_block/read", "mul", {value("rg_lru/state"), value("temporal_block/y")}},
                        projection("temporal_block/linear_out", "temporal_block/read", "1")});
    append(block.rows, gemma_feed_forward("temporal_block/linear_out"));
    return block;
}

Block gemma_attention() {
    const std::string bias = "attention_bias", at = "temporal_block/";
    Block block{.name = "attention", .tensors = gemma_tensors};
    append(block.tensors, query_key_value_tensors("temporal_block", bias));
    append(block.tensors, projection_tensors(at + "o_proj", "hidden_size", query_width, "1"));
    append(block.tensors, gated_mlp_tensors("mlp_block", "inner", "1"));
    block.rows = {gemma_input()};
    append(block.rows, query_key_value("temporal_block", "temporal_pre_norm", bias));
    append(block.rows, attention({.at = "temporal_block"}));
    block.rows.push_back(projection(at + "o_proj", at + "attention", "1"));
    append(block.rows, gemma_feed_forward(at + "o_proj"));
    return block;
}

} // namespace

Architecture recurrent_gemma() {
    using Kind = Key::Kind;
    const LanguageModel model = {.norm = "model.final_norm", .plus_one = true};
    Architecture made{.model_type = "recurrent_gemma", .made_by = "RecurrentGemmaForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.window = "attention_window_size";
    made.prefix = "model.layers";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"intermediate_size", Kind::size, "", 2, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"num_attention_heads", Kind::size, "", 1, most_heads},
                 key_value_heads(),
                 head_dim(),
                 {.name = "lru_width", .high = most_width, .rule = "hidden_size"},
                 {"conv1d_width", Kind::size, "4", 1, 64},
                 {"attention_window_size", Kind::size, "2048", 1, 1 << 20},
                 {"logits_soft_cap", Kind::number, "30", 1e-3, most_factor},
                 {"rms_norm_eps", Kind::number, "1e-6", 0, 1},
                 {"hidden_activation", Kind::activation, "\"gelu_pytorch_tanh\""},
                 {"attention_bias", Kind::flag, "false"},
                 rotary_positions(),
                 {.name = "embeddings_scale_by_sqrt_dim",
                  .kind = Kind::choice,
                  .fallback = "true",
                  .choices = {"true"}},
                 {"tie_word_embeddings", Kind::flag, "true"}};
    made.rotary = {.part = 0.5, .in_part = true};
    made.ignored = {"_block_types", "final_w_init_variance_scale", "w_init_variance_scale"};
    append(made.ignored, ignored_by_attention());
    made.derived = attention_sizes();
    append(made.derived, {{.name = "inner", .of = "intermediate_size", .divisor = "2"},
                          {.name = "block_width", .of = "lru_width", .divisor = "num_attention_heads"}});
    made.conditions = attention_conditions();
    append(made.conditions, {{Condition::Kind::equal, "hidden_size", query_width},
                             {Condition::Kind::divides, "lru_width", "num_attention_heads"}});
    made.kinds = {{KindRule::Kind::cycle,
                   "block_types",
                   {{"recurrent", "recurrent"}, {"attention", "attention"}},
                   "[\"recurrent\", \"recurrent\", \"attention\"]"}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.before.push_back(scaled("normalizer", model.table, "bfloat16_sqrt(hidden_size)", "hidden_size"));
    made.blocks = {gemma_recurrence(), gemma_attention()};
    made.after = rows_after(model);
    append(made.after, soft_cap("logits", "lm_head", "logits_soft_cap", "vocab_size"));
    return made;
}

} // namespace longwave::huggingface
