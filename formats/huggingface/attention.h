// Softmax attention of a decoder, in which groups of heads share keys and values.
#pragma once
#include "formats/huggingface/rows.h"

namespace longwave::huggingface {

// Keys and sizes that `attention` reads: "head_dim", the sizes of rotary positions, and those below.
struct Attention {
    std::string at;                                   // the node and the tensors, as "self_attn"
    std::string queries = {}, keys = {}, values = {}; // rows; empty: AT/q_proj, AT/k_proj and AT/v_proj
    bool rotary = true;                               // does the table have a key of this kind?
    std::string scale = {};                           // of scores, a number; empty: 1 / sqrt(head_dim)
};
inline constexpr char query_width[] = "num_attention_heads * head_dim",
                      key_width[] = "num_key_value_heads * head_dim";

// The key of heads that have keys and values, and of features in a head where config.json need not say so.
Key key_value_heads();
Key head_dim();
// Key of the positions.
Key rotary_positions();
// Sizes and conditions of every table with attention.
std::vector<Derived> attention_sizes(bool rotary = true);
std::vector<Condition> attention_conditions(bool rotary = true);
// AT/q_proj, AT/k_proj and AT/v_proj, matrix multiplications of the row `from`, and their tensors.
std::vector<Row> query_key_value(const std::string &at, const std::string &from,
                                 const std::string &bias = "0");
std::vector<TensorRow> query_key_value_tensors(const std::string &at, const std::string &bias = "0",
                                               const std::string &of_queries = query_width);
// Rows up to AT/attention.
std::vector<Row> attention(const Attention &of);
// Keys about training and kernels that change no result.
const std::vector<std::string> &ignored_by_attention();

} // namespace longwave::huggingface
