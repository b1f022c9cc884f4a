// RWKV-7 (Peng et al. 2025), RWKV7ForCausalLM of flash-linear-attention: a matrix per head whose keys decay
// each at a rate of its own, with a correction along one key, and values that the first block shares.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/rows.h"

namespace longwave::huggingface {
namespace {

const std::string rwkv7_width = "hidden_size", rwkv7_heads = "heads";

std::string rwkv7_part(const std::string &name) { return "attn/" + name; }

void rwkv7_norm(Block &block, const std::string &name, const std::string &from) {
    append(block.tensors,
           {{name + ".weight", {rwkv7_width}}, {name + ".bias", {rwkv7_width}, {}, "norm_bias"}});
    append(block.rows, layer_norm(name, from, "norm_eps", rwkv7_width, "norm_bias"));
}

// AT/delta, from the row before to this one.
std::vector<Row> rwkv7_delta(const std::string &at, const std::string &from) {
    return {{at + "/before", "shift", {value(from)}, {size("rows", "1")}},
            scaled(at + "/minus", from, "-1", rwkv7_width),
            {at + "/delta", "add", {value(at + "/before"), value(at + "/minus")}}};
}

// AT/mixed_NAME, each feature between this row and the one before, as the tensor AT.x_NAME says.
std::vector<Row> rwkv7_mixed(const std::string &at, const std::string &from, const std::string &name) {
    const std::string part = at + "/part_" + name;
    return {{part, "affine", {value(at + "/delta"), tensor(at + ".x_" + name), zeros(rwkv7_width)}},
            {at + "/mixed_" + name, "add", {value(from), value(part)}}};
}

// A matrix of few rows, a function, and a matrix of few columns.
void rwkv7_low_rank(Block &block, const std::string &name, const std::string &from, const std::string &rank,
                    const std::string &out, const std::string &function, const std::string &bias) {
    const std::string at = rwkv7_part(name + "_lora/lora/");
    append(block.tensors, projection_tensors(at + "0", rank, rwkv7_width));
    append(block.tensors, projection_tensors(at + "2", out, rank, bias));
    block.rows.push_back(projection(at + "0", from));
    if (!function.empty()) block.rows.push_back({at + "1", function, {value(at + "0")}});
    block.rows.push_back(projection(at + "2", at + (function.empty() ? "0" : "1"), bias));
}

Row rwkv7_sigmoid(const std::string &name, const std::string &from) {
    return {rwkv7_part(name), "sigmoid", {value(rwkv7_part(from + "_lora/lora/2"))}};
}

// Matrices of the mixed rows, and rates, gates and decays.
void rwkv7_inputs(Block &block) {
    const auto project = [&](const std::string &name, const std::string &out) {
        const std::string at = rwkv7_part(name + "_proj");
        append(block.tensors, projection_tensors(at, out, rwkv7_width));
        block.rows.push_back(projection(at, rwkv7_part("mixed_" + name)));
    };
    append(block.rows, rwkv7_delta("attn", "attn_norm"));
    for (const char *name : {"r", "w", "k", "v", "a", "g"}) {
        block.tensors.push_back({std::string("attn.x_") + name, {"1", "1", rwkv7_width}, {rwkv7_width}});
        append(block.rows, rwkv7_mixed("attn", "attn_norm", name));
    }
    project("r", rwkv7_width);
    project("k", rwkv7_width);
    project("v", "value_dim");
    rwkv7_low_rank(block, "w", rwkv7_part("mixed_w"), "decay_low_rank_dim", rwkv7_width, "tanh", "1");
    rwkv7_low_rank(block, "a", rwkv7_part("mixed_a"), "a_low_rank_dim", rwkv7_width, "", "1");
    rwkv7_low_rank(block, "g", rwkv7_part("mixed_g"), "gate_low_rank_dim", "value_dim", "sigmoid", "0");
    append(block.rows,
           {rwkv7_sigmoid("pace", "w"),
            // exp(-1/2), and so no decay is below exp(-exp(-1/2))
            scaled(rwkv7_part("exponent"), rwkv7_part("pace"), "-0.6065306597126334", rwkv7_width),
            {rwkv7_part("decay"), "exp", {value(rwkv7_part("exponent"))}},
            rwkv7_sigmoid("rate", "a")});
}

// Values of later blocks lie between their own and those of the first.
void rwkv7_values(Block &block) {
    rwkv7_low_rank(block, "v", rwkv7_part("mixed_v"), "v_low_rank_dim", "value_dim", "", "1");
    append(block.rows,
           {rwkv7_sigmoid("share", "v"),
            scaled(rwkv7_part("minus_v"), rwkv7_part("v_proj"), "-1", "value_dim"),
            {rwkv7_part("to_first"),
             "add",
             {{.kind = Operand::Kind::first, .name = rwkv7_part("v_proj")}, value(rwkv7_part("minus_v"))}},
            {rwkv7_part("shared"), "mul", {value(rwkv7_part("to_first")), value(rwkv7_part("share"))}},
            {rwkv7_part("values"), "add", {value(rwkv7_part("v_proj")), value(rwkv7_part("shared"))}}});
}

// k / sqrt(sum of squares + eps) of each head: as a norm by the mean, both divided by the width.
Row rwkv7_unit_norm(const std::string &name, const std::string &from, const std::string &eps,
                    const std::string &when) {
    Row row = norm(rwkv7_part(name), rwkv7_part(from), filled("1 / sqrt(head_dim)", rwkv7_width),
                   eps + " / head_dim", rwkv7_heads);
    row.when = when;
    return row;
}

Operand one_minus(const std::string &name) {
    return {.kind = Operand::Kind::list,
            .name = name,
            .of = [](double x) { return 1 - x; },
            .label = "one_minus"};
}

// S = diag(w) S + b (a^T S) + k v^T with a = -kappa and b = rate * kappa.
std::vector<Row> rwkv7_state(const std::string &values) {
    const auto p = rwkv7_part;
    return {{p("marked"), "affine", {value(p("k_proj")), tensor("attn.k_k"), zeros(rwkv7_width)}},
            // Fused kernels add 1e-6. The others divide by 1e-12 at least.
            rwkv7_unit_norm("fused_kappa", "marked", "1e-6", "fuse_norm"),
            rwkv7_unit_norm("kappa", "fused_kappa", "1e-24", "!fuse_norm"),
            scaled(p("minus_kappa"), p("kappa"), "-1", rwkv7_width),
            {p("corrected"), "mul", {value(p("kappa")), value(p("rate"))}},
            // 1 + (rate - 1) k_a
            {p("factor"), "affine", {value(p("rate")), tensor("attn.k_a"), one_minus("attn.k_a")}},
            {p("keys"), "mul", {value(p("k_proj")), value(p("factor"))}},
            {p("state"),
             "matrix_recurrence",
             {value(p("r_proj")), value(p("keys")), value(values), value(p("decay")), value(p("minus_kappa")),
              value(p("corrected"))},
             {size("heads", rwkv7_heads), size("key_heads", rwkv7_heads), text("decay", "key"),
              size("rank_one", "1")}}};
}

// What is read, and of each head the values of this row times a number, times a gate.
std::vector<Row> rwkv7_read(const std::string &values) {
    const auto p = rwkv7_part;
    return {{p("g_norm"),
             "layer_norm",
             {value(p("state")), tensor("attn.g_norm.weight"), tensor("attn.g_norm.bias")},
             {number("eps", "head_dim * norm_eps"), size("groups", rwkv7_heads)}},
            {p("asked"), "mul", {value(p("r_proj")), value(p("keys"))}},
            {p("bonus"),
             "block_linear",
             {value(p("asked")), tensor("attn.r_k")},
             {size("bias", "0"), size("first", "0")}},
            taken(p("bonus_of_values"), p("bonus"), "0", rwkv7_heads, "head_v_dim"),
            {p("now"), "mul", {value(values), value(p("bonus_of_values"))}},
            {p("read"), "add", {value(p("g_norm")), value(p("now"))}},
            {p("gated"), "mul", {value(p("read")), value(p("g_lora/lora/2"))}},
            projection(p("o_proj"), p("gated"))};
}

Block rwkv7_block(bool first) {
    Block block{.name = first ? "first" : "later"};
    std::string x = "x";
    if (first) {
        append(block.tensors, {{"pre_norm.weight", {rwkv7_width}, {}, "norm_first"},
                               {"pre_norm.bias", {rwkv7_width}, {}, "norm_first & norm_bias"}});
        for (Row row : layer_norm("pre_norm", "x", "norm_eps", rwkv7_width, "norm_bias")) {
            row.when = "norm_first & " + row.when;
            block.rows.push_back(row);
        }
        x = "pre_norm";
    }
    rwkv7_norm(block, "attn_norm", x);
    rwkv7_inputs(block);
    const std::string values = rwkv7_part(first ? "v_proj" : "values");
    if (!first) rwkv7_values(block);
    append(block.tensors, {{"attn.k_k", {rwkv7_width}},
                           {"attn.k_a", {rwkv7_width}},
                           {"attn.r_k", {rwkv7_heads, "head_dim"}, {rwkv7_heads, "1", "head_dim"}},
                           {"attn.g_norm.weight", {"value_dim"}},
                           {"attn.g_norm.bias", {"value_dim"}},
                           {"ffn.x_k", {rwkv7_width}}});
    append(block.tensors, projection_tensors("attn/o_proj", rwkv7_width, "value_dim"));
    append(block.rows, rwkv7_state(values));
    append(block.rows, rwkv7_read(values));
    block.rows.push_back({"residual", "add", {value(x), value("attn/o_proj")}});
    rwkv7_norm(block, "ffn_norm", "residual");
    append(block.tensors, projection_tensors("ffn/key", "intermediate_size", rwkv7_width));
    append(block.tensors, projection_tensors("ffn/value", rwkv7_width, "intermediate_size"));
    append(block.rows, rwkv7_delta("ffn", "ffn_norm"));
    append(block.rows, rwkv7_mixed("ffn", "ffn_norm", "k"));
    append(block.rows, {projection("ffn/key", "ffn/mixed_k"),
                        {"ffn/relu", "relu", {value("ffn/key")}},
                        {"ffn/square", "square", {value("ffn/relu")}},
                        projection("ffn/value", "ffn/square"),
                        {"ffn", "add", {value("residual"), value("ffn/value")}}});
    return block;
}

} // namespace

Architecture rwkv7() {
    using Kind = Key::Kind;
    Architecture made{.model_type = "rwkv7", .made_by = "RWKV7ForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "model.layers";
    made.keys = {
        {"vocab_size", Kind::size, "32000"},
        {"hidden_size", Kind::size, "2048", 1, most_width},
        {"num_hidden_layers", Kind::size, "24", 1, most_blocks},
        {"head_dim", Kind::size, "64", 1, most_width},
        {.name = "value_dim",
         .kind = Kind::same_size,
         .high = most_width,
         .rule = "hidden_size",
         .divisor = "num_hidden_layers"},
        {"hidden_ratio", Kind::number, "4", 1e-3, most_factor},
        {.name = "intermediate_size", .low = 0, .high = most_width, .rule = "0"},
        {"decay_low_rank_dim", Kind::size, "64", 1, most_width},
        {"gate_low_rank_dim", Kind::size, "128", 1, most_width},
        {"a_low_rank_dim", Kind::size, "64", 1, most_width},
        {"v_low_rank_dim", Kind::size, "16", 1, most_width},
        {.name = "hidden_act", .kind = Kind::choice, .fallback = "\"sqrelu\"", .choices = {"\"sqrelu\""}},
        {.name = "attn",
         .kind = Kind::choice,
         .fallback = "null",
         .choices = {"null"},
         .reason = "blocks of attention in such a folder are not read"},
        {"norm_eps", Kind::number, "1e-5", 0, 1},
        {"norm_first", Kind::flag, "true"},
        {"norm_bias", Kind::flag, "true"},
        {"fuse_norm", Kind::flag, "true"},
        {"tie_word_embeddings", Kind::flag, "false"}};
    made.ignored = {"attn_mode",          "auto_map",
                    "fuse_cross_entropy", "fuse_linear_cross_entropy",
                    "initializer_range",  "max_position_embeddings",
                    "num_heads", // head_dim counts more
                    "use_l2warp"};
    made.derived = {
        {.name = "heads", .of = "hidden_size", .divisor = "head_dim"},
        {.name = "head_v_dim", .of = "value_dim", .divisor = "heads"},
        {.name = "ffn_parts", .of = "hidden_size", .divisor = "32", .up = true, .factor = "hidden_ratio"},
        {.name = "intermediate_size", .of = "32 * ffn_parts", .when = "!intermediate_size"}};
    made.conditions = {{Condition::Kind::divides, "hidden_size", "head_dim"},
                       {Condition::Kind::divides, "value_dim", "hidden_size"}};
    made.kinds = {{.kind = KindRule::Kind::first, .names = {{"", "first"}, {"", "later"}}}};
    made.tensors = {{"model.embeddings.weight", {"vocab_size", "hidden_size"}},
                    {"model.norm.weight", {"hidden_size"}},
                    {"model.norm.bias", {"hidden_size"}, {}, "norm_bias"},
                    {"lm_head.weight",
                     {"vocab_size", "hidden_size"},
                     {},
                     "!tie_word_embeddings",
                     "model.embeddings.weight"}};
    made.before = {{"model.embeddings", "embedding", {value("x"), tensor("model.embeddings.weight")}}};
    made.blocks = {rwkv7_block(true), rwkv7_block(false)};
    made.after = layer_norm("model.norm", "x", "norm_eps", "hidden_size", "norm_bias");
    made.after.push_back(projection("lm_head", "model.norm"));
    return made;
}

} // namespace longwave::huggingface
