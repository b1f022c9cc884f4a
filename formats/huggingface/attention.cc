#include "formats/huggingface/attention.h"
#include "formats/huggingface/architectures.h"

namespace longwave::huggingface {
namespace {

// Rotations pair the first half of the rotated features of a head with the second half. The op pairs the
// halves of a whole head. So where only some features rotate, the halves of the others go between them: the
// scores of queries and keys in the same order stay as they are.
Operand halves(const std::string &heads) {
    return grouped_places({{"0", "rotated_pairs"},
                           {"rotated", "resting_pairs"},
                           {"rotated_pairs", "rotated_pairs"},
                           {"rotated + resting_pairs", "resting_pairs"}},
                          heads, "head_dim");
}

void rotate(std::vector<Row> &rows, std::string &name, const std::string &to, const std::string &heads) {
    rows.push_back(taken(to + "_halves", name, halves(heads), "rotary & partial"));
    rows.push_back({to,
                    "rotary",
                    {value(to + "_halves"), {.kind = Operand::Kind::rates, .parts = {{"0", "pairs"}}}},
                    {size("heads", heads), size("interleaved", "0")},
                    "rotary"});
    name = to;
}

} // namespace

Key key_value_heads() {
    return {.name = "num_key_value_heads", .low = 1, .high = most_heads, .rule = "num_attention_heads"};
}

Key head_dim() {
    return {.name = "head_dim",
            .low = 1,
            .high = most_width,
            .rule = "hidden_size",
            .divisor = "num_attention_heads"};
}

Key rotary_positions() { return {.name = "rope_parameters", .kind = Key::Kind::rotary}; }

std::vector<Derived> attention_sizes(bool rotary) {
    if (!rotary) return {};
    return {{"pairs", "head_dim", "2"}, {"rotated_pairs", "rotated", "2"}, {"resting_pairs", "resting", "2"}};
}

std::vector<Condition> attention_conditions(bool rotary) {
    std::vector<Condition> made = {{Condition::Kind::divides, "num_attention_heads", "num_key_value_heads"}};
    if (rotary)
        append(made, {{Condition::Kind::divides, "head_dim", "2", "rotary"},
                      {Condition::Kind::divides, "rotated", "2", "rotary"}});
    return made;
}

std::vector<Row> query_key_value(const std::string &at, const std::string &from, const std::string &bias) {
    return {projection(at + "/q_proj", from, bias), projection(at + "/k_proj", from, bias),
            projection(at + "/v_proj", from, bias)};
}

std::vector<TensorRow> query_key_value_tensors(const std::string &at, const std::string &bias,
                                               const std::string &of_queries) {
    std::vector<TensorRow> rows = projection_tensors(at + "/q_proj", of_queries, "hidden_size", bias);
    append(rows, projection_tensors(at + "/k_proj", key_width, "hidden_size", bias));
    append(rows, projection_tensors(at + "/v_proj", key_width, "hidden_size", bias));
    return rows;
}

std::vector<Row> attention(const Attention &of) {
    const std::string at = of.at + "/", values = of.values.empty() ? at + "v_proj" : of.values;
    std::string queries = of.queries.empty() ? at + "q_proj" : of.queries,
                keys = of.keys.empty() ? at + "k_proj" : of.keys;
    std::vector<Row> rows;
    if (of.rotary) {
        rotate(rows, queries, at + "rotated_queries", "num_attention_heads");
        rotate(rows, keys, at + "rotated_keys", "num_key_value_heads");
    }
    if (!of.scale.empty()) { // the op divides by the root of head_dim
        rows.push_back(scaled(at + "scaled_queries", queries, of.scale + " * sqrt(head_dim)", query_width));
        queries = at + "scaled_queries";
    }
    append(rows, {taken(at + "any", values, "0", "1"),
                  {at + "one", "affine", {value(at + "any"), zeros("1"), ones("1")}},
                  {at + "rows", "concat", {value(keys), value(values), value(at + "one")}},
                  {at + "attention",
                   "softmax_attention",
                   {value(at + "rows"), value(queries)},
                   {size("heads", "num_attention_heads"), size("key_heads", "num_key_value_heads"),
                    size("window", "window"), size("causal", "1")}}});
    return rows;
}

const std::vector<std::string> &ignored_by_attention() {
    static const std::vector<std::string> names = {"attention_dropout", "attn_implementation",
                                                   "initializer_range", "max_position_embeddings"};
    return names;
}

} // namespace longwave::huggingface
