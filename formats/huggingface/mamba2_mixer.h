// The mixer of Mamba-2 (Dao and Gu 2024), which several architectures have: a state per head that decays by
// one number, and groups of heads that share B and C.
#pragma once
#include "formats/huggingface/rows.h"

namespace longwave::huggingface {

// Names of keys, sizes and rows.
struct Mamba2Mixer {
    std::string at = "mixer", from = "norm";
    std::string heads = "num_heads", head_dim = "head_dim", groups = "n_groups", state = "state_size",
                taps = "conv_kernel", activation = "hidden_act", eps = "layer_norm_epsilon";
    std::string bias = "use_bias", bias_out = "use_bias", bias_of_taps = "use_conv_bias";
    std::string least = "time_step_limit.low", most = "time_step_limit.high", limited = "time_step_limit";
};

// Rows up to AT/out_proj.
std::vector<Row> rows_of(const Mamba2Mixer &mixer);
std::vector<TensorRow> tensors_of(const Mamba2Mixer &mixer);

} // namespace longwave::huggingface
