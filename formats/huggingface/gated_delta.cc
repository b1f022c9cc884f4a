#include "formats/huggingface/gated_delta.h"
#include "formats/huggingface/architectures.h"

namespace longwave::huggingface {
namespace {

const std::string delta_key_heads = "linear_num_key_heads", delta_heads = "linear_num_value_heads",
                  delta_key_dim = "linear_key_head_dim", delta_value_dim = "linear_value_head_dim";

// x / sqrt(sum of squares + 1e-6) of each head, as a norm by the mean: both divided by the width.
Row unit_norm(const std::string &name, const std::string &from, const std::string &weight) {
    return norm(name, from, filled(weight, delta_key_width), "1e-6 / " + delta_key_dim, delta_key_heads);
}

} // namespace

std::vector<Key> gated_delta_keys() {
    using Kind = Key::Kind;
    return {{delta_key_heads, Kind::size, "16", 1, most_heads},
            {delta_heads, Kind::size, "32", 1, most_heads},
            {delta_key_dim, Kind::size, "128", 1, most_width},
            {delta_value_dim, Kind::size, "128", 1, most_width},
            {"linear_conv_kernel_dim", Kind::size, "4", 1, 64}};
}

std::vector<Derived> gated_delta_sizes() {
    return {{"value_group", delta_heads, delta_key_heads}, {"values_grouped", "value_group", "2"}};
}

std::vector<Condition> gated_delta_conditions() {
    return {{Condition::Kind::divides, delta_heads, delta_key_heads}};
}

std::vector<TensorRow> gated_delta_tensors(const GatedDelta &of) {
    return {{of.at + ".A_log", {delta_heads}},
            {of.at + ".dt_bias", {delta_heads}},
            {tensor_name(of.norm) + ".weight", {delta_value_dim}}};
}

std::vector<Row> gated_delta(const GatedDelta &of) {
    const std::string at = of.at + "/";
    std::vector<Row> rows = {
        unit_norm(at + "unit_queries", of.queries,
                  "1 / " + delta_key_dim), // the op does not divide by a root
        unit_norm(at + "unit_keys", of.keys, "1 / sqrt(" + delta_key_dim + ")"),
        {at + "sigmoid", "sigmoid", {value(of.beta)}},
        scaled(at + "beta", at + "sigmoid", "2", delta_heads, of.doubled.empty() ? "0" : of.doubled),
        {at + "biased", "affine", {value(of.step), ones(delta_heads), tensor(of.at + ".dt_bias")}},
        {at + "softplus", "softplus", {value(at + "biased")}},
        {at + "exponent",
         "affine",
         {value(at + "softplus"), minus_exp(of.at + ".A_log"), zeros(delta_heads)}},
        {at + "decay", "exp", {value(at + "exponent")}},
        // S = w S + k (beta (v - (w S) k)): a is -beta w k, b is k, and values are beta v.
        taken(at + "beta_of_values", at + "beta", "0", delta_heads, delta_value_dim),
        {at + "scaled_values", "mul", {value(of.values), value(at + "beta_of_values")}},
        {at + "forgets", "mul", {value(at + "beta"), value(at + "decay")}},
        scaled(at + "minus_forgets", at + "forgets", "-1", delta_heads),
        taken(at + "forgets_of_keys", at + "minus_forgets", "0", delta_heads, delta_key_dim),
        taken(at + "keys_of_heads", at + "unit_keys",
              grouped_places({{"0", delta_key_dim}}, delta_key_heads, delta_key_dim, "value_group"),
              "values_grouped"),
        {at + "a", "mul", {value(at + "keys_of_heads"), value(at + "forgets_of_keys")}},
        {at + "state",
         "matrix_recurrence",
         {value(at + "unit_queries"), value(at + "unit_keys"), value(at + "scaled_values"),
          value(at + "decay"), value(at + "a"), value(at + "unit_keys")},
         {size("heads", delta_heads), size("key_heads", delta_key_heads), text("decay", "head"),
          size("rank_one", "1")}},
        norm(of.norm, at + "state", repeated(tensor_name(of.norm) + ".weight", delta_heads), of.eps,
             delta_heads),
        {at + "silu", "silu", {value(of.gate)}},
        {at + "gated", "mul", {value(of.norm), value(at + "silu")}},
    };
    return rows;
}

} // namespace longwave::huggingface
