// Mamba-2 (Dao and Gu 2024), Mamba2ForCausalLM of transformers.
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/mamba2_mixer.h"

namespace longwave::huggingface {

Architecture mamba2() {
    using Kind = Key::Kind;
    const Mamba2Mixer mixer;
    const LanguageModel model = {.table = "backbone.embeddings",
                                 .norm = "backbone.norm_f",
                                 .eps = "layer_norm_epsilon",
                                 .formerly = "backbone.embedding.weight"};
    Architecture made{.model_type = "mamba2", .made_by = "Mamba2ForCausalLM"};
    made.vocabulary = "vocab_size";
    made.depth = "num_hidden_layers";
    made.prefix = "backbone.layers";
    made.keys = {{"vocab_size"},
                 {"hidden_size", Kind::size, "", 1, most_width},
                 {"num_hidden_layers", Kind::size, "", 1, most_blocks},
                 {"num_heads", Kind::size, "", 1, most_heads},
                 {"head_dim", Kind::size, "", 1, most_width},
                 {"n_groups", Kind::size, "8", 1, most_heads},
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
    made.conditions = {{Condition::Kind::equal, "hidden_size * expand", "num_heads * head_dim"},
                       {Condition::Kind::divides, "num_heads", "n_groups"}};
    made.tensors = tensors_of(model);
    made.before = rows_before(model);
    Block block{.name = "mamba2", .tensors = {{"norm.weight", {"hidden_size"}}}};
    append(block.tensors, tensors_of(mixer));
    block.rows = {norm("norm", "x", tensor("norm.weight"), "layer_norm_epsilon")};
    append(block.rows, rows_of(mixer));
    block.rows.push_back({"residual", "add", {value("x"), value("mixer/out_proj")}});
    made.blocks = {block};
    made.after = rows_after(model);
    return made;
}

} // namespace longwave::huggingface
