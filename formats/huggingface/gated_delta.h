// The gated delta rule of Gated DeltaNet (Yang, Kautz and Hatamizadeh 2024): a state per head of values that
// decays by one number and replaces what it reads by what it should have read.
#pragma once
#include "formats/huggingface/rows.h"

namespace longwave::huggingface {

// Names of rows, at `at`. Keys: linear_num_key_heads, linear_num_value_heads, linear_key_head_dim,
// linear_value_head_dim, hidden_act. Tensors: A_log and dt_bias.
struct GatedDelta {
    std::string at;
    std::string queries, keys, values; // behind the activation
    std::string beta, step, gate;      // `beta`: before its sigmoid; `step`: what decays
    std::string norm;                  // of what is read, with a weight for a head
    std::string eps;
    std::string doubled = {}; // a flag: beta goes up to 2
};
inline constexpr char delta_key_width[] = "linear_num_key_heads * linear_key_head_dim",
                      delta_value_width[] = "linear_num_value_heads * linear_value_head_dim";

std::vector<Key> gated_delta_keys();
// "value_group": heads of values that share queries and keys.
std::vector<Derived> gated_delta_sizes();
std::vector<Condition> gated_delta_conditions();
std::vector<TensorRow> gated_delta_tensors(const GatedDelta &of);
// Rows up to AT/gated.
std::vector<Row> gated_delta(const GatedDelta &of);

} // namespace longwave::huggingface
