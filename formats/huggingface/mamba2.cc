// Mamba-2 (Dao and Gu 2024), Mamba2ForCausalLM of transformers: a state per head that decays by one number
// and a group of heads that share B and C.
#include "formats/huggingface/architectures.h"

namespace longwave::huggingface {

Architecture mamba2() {
    using Kind = Key::Kind;
    const std::string inner = "num_heads * head_dim", shared = "n_groups * state_size",
                      mixed = inner + " + 2 * " + shared;
    Architecture made{.model_type = "mamba2", .made_by = "Mamba2ForCausalLM"};
    made.vocabulary = "vocab_size";
    made.blocks = "num_hidden_layers";
    made.prefix = "backbone.layers";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"num_heads", Kind::size, "", 1, 4096},
                 {"head_dim", Kind::size, "", 1, most_width},
                 {"n_groups", Kind::size, "8", 1, 4096},
                 {"state_size", Kind::size, "128", 1, most_width},
                 {"expand", Kind::size, "2", 1, 64},
                 {"conv_kernel", Kind::size, "4", 1, 64},
                 {"hidden_act", Kind::activation, "\"silu\""},
                 {"layer_norm_epsilon", Kind::number, "1e-5", 0, 1},
                 {"time_step_limit", Kind::range, "[0, {\"__float__\": \"Infinity\"}]"},
                 {"use_bias", Kind::flag, "false"},
                 {"use_conv_bias", Kind::flag, "true"},
                 {"tie_word_embeddings", Kind::flag, "false"}};
    made.ignored = {"chunk_size",
                    "initializer_range",
                    "rescale_prenorm_residual",
                    "residual_in_fp32",
                    "rms_norm",
                    "time_step_floor",
                    "time_step_max",
                    "time_step_min",
                    "time_step_rank",
                    "time_step_init_scheme",
                    "norm_before_gate"};
    made.conditions = {{Condition::Kind::equal, "hidden_size * expand", inner},
                       {Condition::Kind::divides, "num_heads", "n_groups"}};
    made.tensors = language_model_tensors();
    made.block_tensors = {
        {"norm.weight", {"hidden_size"}},
        {"mixer.in_proj.weight", {inner + " + " + mixed + " + num_heads", "hidden_size"}},
        {"mixer.in_proj.bias", {inner + " + " + mixed + " + num_heads"}, {}, "use_bias"},
        short_convolution_taps(mixed),
        {"mixer.conv1d.bias", {mixed}, {}, "use_conv_bias"},
        {"mixer.dt_bias", {"num_heads"}},
        {"mixer.A_log", {"num_heads"}},
        {"mixer.D", {"num_heads"}},
        {"mixer.norm.weight", {inner}},
        {"mixer.out_proj.weight", {"hidden_size", inner}},
        {"mixer.out_proj.bias", {"hidden_size"}, {}, "use_bias"},
    };
    made.before = rows_before();
    made.block = {
        {"norm", "rms_norm", {value("x"), tensor("norm.weight")}, {number("eps", "layer_norm_epsilon")}},
        projection("mixer/in_proj", "norm", "use_bias"),
        taken("mixer/gate", "mixer/in_proj", "0", inner),
        taken("mixer/mixed", "mixer/in_proj", inner, mixed),
        taken("mixer/time_step", "mixer/in_proj", inner + " + " + mixed, "num_heads"),
        short_convolution("mixer/mixed", mixed),
        {"mixer/activated", "=hidden_act", {value("mixer/conv1d")}},
        taken("mixer/values", "mixer/activated", "0", inner),
        taken("mixer/B", "mixer/activated", inner, shared),
        taken("mixer/C", "mixer/activated", inner + " + " + shared, shared),
        {"mixer/biased", "affine", {value("mixer/time_step"), ones("num_heads"), tensor("mixer.dt_bias")}},
        {"mixer/softplus", "softplus", {value("mixer/biased")}},
        {"mixer/dt",
         "clamp",
         {value("mixer/softplus")},
         {number("low", "time_step_limit.low"), number("high", "time_step_limit.high")},
         "time_step_limit"},
        {"mixer/exponent", "affine", {value("mixer/dt"), minus_exp("mixer.A_log"), zeros("num_heads")}},
        {"mixer/decay", "exp", {value("mixer/exponent")}},
        taken("mixer/dt_of_values", "mixer/dt", "0", "num_heads", "head_dim"),
        {"mixer/scaled", "mul", {value("mixer/values"), value("mixer/dt_of_values")}},
        {"mixer/state",
         "matrix_recurrence",
         {value("mixer/C"), value("mixer/B"), value("mixer/scaled"), value("mixer/decay")},
         {size("heads", "num_heads"), size("key_heads", "n_groups"), text("decay", "head"),
          size("rank_one", "0")}},
        {"mixer/skip", "affine", {value("mixer/values"), spread("mixer.D", "head_dim"), zeros(inner)}},
        {"mixer/read", "add", {value("mixer/state"), value("mixer/skip")}},
        {"mixer/silu", "silu", {value("mixer/gate")}},
        {"mixer/gated", "mul", {value("mixer/read"), value("mixer/silu")}},
        {"mixer/norm",
         "rms_norm",
         {value("mixer/gated"), tensor("mixer.norm.weight")},
         {number("eps", "layer_norm_epsilon"), size("groups", "n_groups")}},
        projection("mixer/out_proj", "mixer/norm", "use_bias"),
        {"residual", "add", {value("x"), value("mixer/out_proj")}},
    };
    made.after = rows_after();
    return made;
}

} // namespace longwave::huggingface
