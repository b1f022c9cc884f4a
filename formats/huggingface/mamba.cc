// Mamba (Gu and Dao 2023), MambaForCausalLM of transformers: each feature has `state_size` states, each with
// a decay of its own. FalconMamba is the same with norms without weights on the time step, B and C.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/rows.h"

namespace longwave::huggingface {
namespace {

Architecture mamba_family(const std::string &model_type, const std::string &made_by) {
    using Kind = Key::Kind;
    const std::string inner = "intermediate_size", all = "intermediate_size * state_size";
    Architecture made{.model_type = model_type, .made_by = made_by};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "backbone.layers";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"state_size", Kind::size, "16", 1, 4096},
                 {"expand", Kind::size, "2", 1, 64},
                 {"conv_kernel", Kind::size, "4", 1, 64},
                 {"time_step_rank", Kind::size, "\"auto\"", 1, most_width, "hidden_size + 15", "16"},
                 {"intermediate_size", Kind::size, "\"auto\"", 1, most_width, "expand * hidden_size"},
                 {"hidden_act", Kind::activation, "\"silu\""},
                 {"layer_norm_epsilon", Kind::number, "1e-5", 0, 1},
                 {"use_bias", Kind::flag, "false"},
                 {"use_conv_bias", Kind::flag, "true"},
                 {"tie_word_embeddings", Kind::flag, "true"}};
    made.ignored = {"d_inner",
                    "d_model",
                    "fused_add_norm",
                    "initializer_range",
                    "n_layer",
                    "pad_vocab_size_multiple",
                    "rescale_prenorm_residual",
                    "residual_in_fp32",
                    "rms_norm",
                    "ssm_cfg",
                    "time_step_floor",
                    "time_step_init_scheme",
                    "time_step_max",
                    "time_step_min",
                    "time_step_scale",
                    "use_associative_scan",
                    "use_falcon_mambapy",
                    "use_mambapy"};
    const LanguageModel model = {.table = "backbone.embeddings",
                                 .norm = "backbone.norm_f",
                                 .eps = "layer_norm_epsilon",
                                 .formerly = "backbone.embedding.weight"};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    Block block{.name = "mamba"};
    block.tensors = {
        {"norm.weight", {"hidden_size"}},
        {"mixer.in_proj.weight", {"2 * " + inner, "hidden_size"}},
        {"mixer.in_proj.bias", {"2 * " + inner}, {}, "use_bias"},
        {"mixer.conv1d.weight", {inner, "1", "conv_kernel"}, {inner, "1", "conv_kernel", "1"}},
        {"mixer.conv1d.bias", {inner}, {}, "use_conv_bias"},
        {"mixer.x_proj.weight", {"time_step_rank + 2 * state_size", inner}},
        {"mixer.dt_proj.weight", {inner, "time_step_rank"}},
        {"mixer.dt_proj.bias", {inner}},
        {"mixer.A_log", {inner, "state_size"}},
        {"mixer.D", {inner}},
        {"mixer.out_proj.weight", {"hidden_size", inner}},
        {"mixer.out_proj.bias", {"hidden_size"}, {}, "use_bias"},
    };
    block.rows = {
        {"norm", "rms_norm", {value("x"), tensor("norm.weight")}, {number("eps", "layer_norm_epsilon")}},
        projection("mixer/in_proj", "norm", "use_bias"),
        taken("mixer/mixed", "mixer/in_proj", "0", inner),
        taken("mixer/gate", "mixer/in_proj", inner, inner),
        short_convolution("mixer/conv1d", "mixer/mixed", inner, "use_conv_bias"),
        {"mixer/values", "=hidden_act", {value("mixer/conv1d")}},
        projection("mixer/x_proj", "mixer/values", "0"),
        taken("mixer/time_step", "mixer/x_proj", "0", "time_step_rank"),
        taken("mixer/B", "mixer/x_proj", "time_step_rank", "state_size"),
        taken("mixer/C", "mixer/x_proj", "time_step_rank + state_size", "state_size"),
        projection("mixer/dt_proj", "mixer/time_step", "1"),
        {"mixer/dt", "softplus", {value("mixer/dt_proj")}},
        // The states of a feature lie one after the other.
        taken("mixer/dt_of_states", "mixer/dt", "0", inner, "state_size"),
        {"mixer/exponent", "affine", {value("mixer/dt_of_states"), minus_exp("mixer.A_log"), zeros(all)}},
        {"mixer/decay", "exp", {value("mixer/exponent")}},
        {"mixer/scaled", "mul", {value("mixer/values"), value("mixer/dt")}},
        {"mixer/added",
         "row_product",
         {value("mixer/scaled"), value("mixer/B")},
         {size("batches", "1"), size("rows", inner), size("inner", "1"), size("columns", "state_size")}},
        {"mixer/states", "gated_scan", {value("mixer/decay"), value("mixer/added")}},
        {"mixer/state",
         "row_product",
         {value("mixer/states"), value("mixer/C")},
         {size("batches", "1"), size("rows", inner), size("inner", "state_size"), size("columns", "1")}},
        {"mixer/skip", "affine", {value("mixer/values"), tensor("mixer.D"), zeros(inner)}},
        {"mixer/read", "add", {value("mixer/state"), value("mixer/skip")}},
        {"mixer/silu", "silu", {value("mixer/gate")}},
        {"mixer/gated", "mul", {value("mixer/read"), value("mixer/silu")}},
        projection("mixer/out_proj", "mixer/gated", "use_bias"),
        {"residual", "add", {value("x"), value("mixer/out_proj")}},
    };
    made.blocks = {block};
    made.after = rows_after(model);
    return made;
}

} // namespace

Architecture mamba() { return mamba_family("mamba", "MambaForCausalLM"); }

Architecture falcon_mamba() {
    Architecture made = mamba_family("falcon_mamba", "FalconMambaForCausalLM");
    made.keys.push_back({"mixer_rms_eps", Key::Kind::number, "1e-6", 0, 1});
    const std::vector<std::pair<std::string, std::string>> normed = {
        {"mixer/time_step", "time_step_rank"}, {"mixer/B", "state_size"}, {"mixer/C", "state_size"}};
    for (const auto &[name, width] : normed)
        insert_behind(
            made.blocks[0].rows, name,
            {name + "_norm", "rms_norm", {value(name), ones(width)}, {number("eps", "mixer_rms_eps")}});
    return made;
}

} // namespace longwave::huggingface
