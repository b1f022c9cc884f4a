// xLSTM (Beck et al. 2024, 2025), xLSTMForCausalLM of transformers: mLSTM, a matrix per head with an input
// and a forget gate, and a sum of keys that normalises what is read.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/rows.h"

namespace longwave::huggingface {
namespace {

const std::string xlstm_heads = "num_heads", xlstm_ffn = "ffn_parts * ffn_round_up_to_multiple_of",
                  xlstm_single = "!weight_mode", xlstm_fused = "weight_mode";

// A norm with NAME.weight, and NAME.bias where there is one.
void xlstm_norm(Block &block, const std::string &name, const std::string &from) {
    append(block.tensors,
           {{name + ".weight", {"hidden_size"}}, {name + ".bias", {"hidden_size"}, {}, "use_bias"}});
    append(block.rows, {norm(name, from, tensor(name + ".weight"), "norm_eps"),
                        {name + "/biased",
                         "affine",
                         {value(name), ones("hidden_size"), tensor(name + ".bias")},
                         {},
                         "use_bias"}});
}

struct Part {
    std::string name, count;
};

// A matrix for each part, or one for all, as `weight_mode` says. Makes the rows NAME/part.
void xlstm_parts(Block &block, const std::string &whole, const std::string &from,
                 const std::vector<Part> &parts, const std::string &bias) {
    const auto add = [&](const std::string &name, const std::string &reads, const std::string &count,
                         const std::string &when) {
        Row row = projection(name, reads, bias);
        row.when = when;
        block.rows.push_back(row);
        for (TensorRow of : projection_tensors(name, count, "hidden_size", bias)) {
            of.when = of.when.empty() ? when : when + " & " + of.when;
            block.tensors.push_back(of);
        }
    };
    std::string all;
    for (const Part &part : parts) all += (all.empty() ? "" : " + ") + part.count;
    add(whole, from, all, xlstm_fused);
    std::string first = "0";
    for (const Part &part : parts) {
        add(part.name, whole, part.count, xlstm_single);
        block.rows.push_back(taken(part.name + "/part", part.name, places(first, part.count), xlstm_fused));
        first += " + " + part.count;
    }
}

// C_t = f C_(t-1) + e^i k v^T, n_t = f n_(t-1) + e^i k, and C q / max(|n q|, 1) is read. Both are kept
// divided by e^m, where m_t = max(m_(t-1) + log f, i) starts from 0. Then no gate overflows, and m stays in
// the result: as the least of |n q|, and because eps is added to what is divided.
//
// The decay is e^(m_(t-1) - m_t + log f), summed in this order: the difference of two near numbers is exact.
// The other order would round log f to the digits of m, again and again.
std::vector<Row> mlstm(const std::string &at) {
    const auto named = [&](const std::string &name) { return at + "/" + name; };
    const auto minus = [&](const std::string &name, const std::string &from) {
        return scaled(named(name), named(from), "-1", xlstm_heads);
    };
    std::vector<Row> rows =
        soft_cap(named("igate"), named("igate_preact/part"), "gate_soft_cap", xlstm_heads);
    append(rows, soft_cap(named("fgate"), named("fgate_preact/part"), "gate_soft_cap", xlstm_heads));
    append(rows, {
                     minus("minus_fgate", "fgate"),
                     {named("softplus"), "softplus", {value(named("minus_fgate"))}},
                     minus("log_f", "softplus"),
                     {named("m"),
                      "gated_scan",
                      {value(named("log_f")), value(named("igate"))},
                      {size("maximum", "1")}},
                     {named("m_before"), "shift", {value(named("m"))}, {size("rows", "1")}},
                     minus("minus_m", "m"),
                     {named("fall"), "add", {value(named("m_before")), value(named("minus_m"))}},
                     {named("exponent"), "add", {value(named("fall")), value(named("log_f"))}},
                     {named("decay"), "exp", {value(named("exponent"))}},
                     {named("below_m"), "add", {value(named("igate")), value(named("minus_m"))}},
                     {named("input"), "exp", {value(named("below_m"))}},
                     {named("least"), "exp", {value(named("minus_m"))}},
                     taken(named("input_of_values"), named("input"), "0", xlstm_heads, "v_head_dim"),
                     {named("values"), "mul", {value(named("v/part")), value(named("input_of_values"))}},
                     scaled(named("queries"), named("q/part"), "1 / sqrt(qk_head_dim)", "qk_dim"),
                 });
    // The sum of keys is a matrix with one column. A column of its own beside the values would move them
    // off the lanes of a vector.
    const auto state = [&](const std::string &name, const std::string &values) -> Row {
        return {
            named(name),
            "matrix_recurrence",
            {value(named("queries")), value(named("k/part")), value(named(values)), value(named("decay"))},
            {size("heads", xlstm_heads), size("key_heads", xlstm_heads), text("decay", "head"),
             size("rank_one", "0")}};
    };
    append(rows, {state("state", "values"),
                  state("normalizer", "input"),
                  {named("size"), "abs", {value(named("normalizer"))}},
                  {named("largest"), "maximum", {value(named("size")), value(named("least"))}},
                  {named("denominator"),
                   "affine",
                   {value(named("largest")), ones(xlstm_heads), filled("eps", xlstm_heads)}},
                  {named("factor"), "reciprocal", {value(named("denominator"))}},
                  taken(named("factor_of_values"), named("factor"), "0", xlstm_heads, "v_head_dim"),
                  {named("read"), "mul", {value(named("state")), value(named("factor_of_values"))}}});
    return rows;
}

Block xlstm_block() {
    const std::string at = "mlstm_layer", bias = "use_bias";
    Block block{.name = "mlstm"};
    xlstm_norm(block, "norm_mlstm", "x");
    xlstm_parts(
        block, at + "/qkv_opreact", "norm_mlstm/biased",
        {{at + "/q", "qk_dim"}, {at + "/k", "qk_dim"}, {at + "/v", "v_dim"}, {at + "/ogate_preact", "v_dim"}},
        bias);
    xlstm_parts(block, at + "/ifgate_preact", "norm_mlstm/biased",
                {{at + "/igate_preact", xlstm_heads}, {at + "/fgate_preact", xlstm_heads}}, "1");
    append(block.rows, mlstm(at));
    append(block.tensors,
           {{at + ".multihead_norm.weight", {"v_dim"}}, {at + ".multihead_norm.bias", {"v_dim"}, {}, bias}});
    append(block.tensors, projection_tensors(at + "/out_proj", "hidden_size", "v_dim", bias));
    append(block.rows,
           layer_norm(at + "/multihead_norm", at + "/read", "norm_eps", "v_dim", bias, xlstm_heads));
    append(block.rows, {{at + "/ogate", "sigmoid", {value(at + "/ogate_preact/part")}},
                        {at + "/gated", "mul", {value(at + "/ogate"), value(at + "/multihead_norm")}},
                        projection(at + "/out_proj", at + "/gated", bias),
                        {"residual", "add", {value("x"), value(at + "/out_proj")}}});
    xlstm_norm(block, "norm_ffn", "residual");
    xlstm_parts(block, "ffn/proj_up_gate_z", "norm_ffn/biased",
                {{"ffn/proj_up_gate", xlstm_ffn}, {"ffn/proj_up", xlstm_ffn}}, bias);
    append(block.tensors, projection_tensors("ffn/proj_down", "hidden_size", xlstm_ffn, bias));
    append(block.rows, {{"ffn/activated", "silu", {value("ffn/proj_up_gate/part")}},
                        {"ffn/gated", "mul", {value("ffn/activated"), value("ffn/proj_up/part")}},
                        projection("ffn/proj_down", "ffn/gated", bias),
                        {"ffn", "add", {value("residual"), value("ffn/proj_down")}}});
    return block;
}

} // namespace

Architecture xlstm() {
    using Kind = Key::Kind;
    const LanguageModel model = {
        .table = "backbone.embeddings", .norm = "backbone.out_norm", .eps = "norm_eps"};
    Architecture made{.model_type = "xlstm", .made_by = "xLSTMForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "backbone.blocks";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {.name = "embedding_dim", .high = most_width, .rule = "hidden_size"},
                 {.name = "num_blocks", .high = most_blocks, .rule = "num_hidden_layers"},
                 {"num_heads", Kind::size, "8", 1, most_heads},
                 {"qk_dim_factor", Kind::number, "0.5", 1e-6, most_factor},
                 {"v_dim_factor", Kind::number, "1", 1e-6, most_factor},
                 {"ffn_proj_factor", Kind::number, "2.667", 1e-6, most_factor},
                 {"ffn_round_up_to_multiple_of", Kind::size, "64", 1, most_width},
                 {"gate_soft_cap", Kind::number, "15", 1e-3, most_factor},
                 {"output_logit_soft_cap", Kind::number, "30", 1e-3, most_factor},
                 {"eps", Kind::number, "1e-6", 0, 1},
                 {"norm_eps", Kind::number, "1e-6", 0, 1},
                 {"use_bias", Kind::flag, "false"},
                 {.name = "weight_mode",
                  .kind = Kind::choice,
                  .fallback = "\"single\"",
                  .choices = {"\"single\"", "\"fused\""}},
                 {.name = "add_out_norm",
                  .kind = Kind::choice,
                  .fallback = "true",
                  .choices = {"true"},
                  .reason = "transformers has the norm in any case, and other programs leave it out"},
                 {.name = "tie_word_embeddings",
                  .kind = Kind::choice,
                  .fallback = "false",
                  .choices = {"false"},
                  .reason = "transformers does not tie the matrices of this model"}};
    made.ignored = {"autocast_kernel_dtype",
                    "chunk_size",
                    "chunkwise_kernel",
                    "inference_state_dtype", // the state is float32
                    "max_inference_chunksize",
                    "mode",
                    "norm_reduction_force_float32",
                    "return_last_states",
                    "sequence_kernel",
                    "step_kernel"};
    made.derived = {{.name = "qk_dim", .of = "hidden_size", .factor = "qk_dim_factor"},
                    {.name = "v_dim", .of = "hidden_size", .factor = "v_dim_factor"},
                    {.name = "qk_head_dim", .of = "qk_dim", .divisor = "num_heads"},
                    {.name = "v_head_dim", .of = "v_dim", .divisor = "num_heads"},
                    {.name = "ffn_parts",
                     .of = "hidden_size",
                     .divisor = "ffn_round_up_to_multiple_of",
                     .up = true,
                     .factor = "ffn_proj_factor"}};
    made.conditions = {{Condition::Kind::equal, "embedding_dim", "hidden_size"},
                       {Condition::Kind::equal, "num_blocks", "num_hidden_layers"},
                       {Condition::Kind::positive, "qk_dim"},
                       {Condition::Kind::positive, "v_dim"},
                       {Condition::Kind::positive, "ffn_parts"},
                       {Condition::Kind::divides, "qk_dim", "num_heads"},
                       {Condition::Kind::divides, "v_dim", "num_heads"}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    made.blocks = {xlstm_block()};
    made.after = rows_after(model);
    append(made.after, soft_cap("logits", "lm_head", "output_logit_soft_cap", "vocab_size"));
    return made;
}

} // namespace longwave::huggingface
