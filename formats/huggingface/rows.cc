#include "formats/huggingface/rows.h"
#include <algorithm>
#include <cmath>

namespace longwave::huggingface {

Operand value(std::string name) { return {.kind = Operand::Kind::value, .name = std::move(name)}; }
Operand tensor(std::string name) { return {.kind = Operand::Kind::tensor, .name = std::move(name)}; }

Operand minus_exp(std::string name) {
    return {.kind = Operand::Kind::list,
            .name = std::move(name),
            .of = [](double x) { return -std::exp(x); },
            .label = "minus_exp"};
}

Operand spread(std::string name, std::string each) {
    return {.kind = Operand::Kind::list, .name = std::move(name), .each = std::move(each)};
}

Operand repeated(std::string name, std::string times) {
    return {.kind = Operand::Kind::list, .name = std::move(name), .times = std::move(times)};
}

Operand plus_one(std::string name, std::string times) {
    return {.kind = Operand::Kind::list,
            .name = std::move(name),
            .times = std::move(times),
            .of = [](double x) { return 1 + x; },
            .label = "plus_one"};
}

Operand filled(std::string number, std::string count) {
    return {.kind = Operand::Kind::filled, .parts = {{std::move(number), std::move(count)}}};
}
Operand zeros(std::string count) { return filled("0", std::move(count)); }
Operand ones(std::string count) { return filled("1", std::move(count)); }

Operand places(std::string first, std::string count, std::string each) {
    return {.kind = Operand::Kind::places, .parts = {{std::move(first), std::move(count), std::move(each)}}};
}

Operand grouped_places(std::vector<Operand::Part> parts, std::string groups, std::string stride,
                       std::string repeats) {
    return {.kind = Operand::Kind::places,
            .parts = std::move(parts),
            .groups = std::move(groups),
            .stride = std::move(stride),
            .repeats = std::move(repeats)};
}

Attribute size(std::string name, std::string of) {
    return {std::move(name), Attribute::Kind::size, std::move(of)};
}
Attribute number(std::string name, std::string of) {
    return {std::move(name), Attribute::Kind::number, std::move(of)};
}
Attribute text(std::string name, std::string of) {
    return {std::move(name), Attribute::Kind::text, std::move(of)};
}

std::string tensor_name(std::string row) {
    std::replace(row.begin(), row.end(), '/', '.');
    return row;
}

Row taken(const std::string &name, const std::string &from, const std::string &first,
          const std::string &count, const std::string &each) {
    return taken(name, from, places(first, count, each));
}

Row taken(const std::string &name, const std::string &from, Operand places, const std::string &when) {
    return {name, "take", {value(from), std::move(places)}, {size("bands", "1")}, when};
}

Row projection(const std::string &name, const std::string &from, const std::string &bias) {
    std::vector<Operand> reads = {value(from), tensor(tensor_name(name) + ".weight")};
    if (bias != "0") reads.push_back(tensor(tensor_name(name) + ".bias"));
    return {name, "linear", std::move(reads), {size("bias", bias)}};
}

std::vector<TensorRow> projection_tensors(const std::string &name, const std::string &out,
                                          const std::string &in, const std::string &bias) {
    std::vector<TensorRow> rows = {{tensor_name(name) + ".weight", {out, in}}};
    if (bias != "0") rows.push_back({tensor_name(name) + ".bias", {out}, {}, bias == "1" ? "" : bias});
    return rows;
}

Row short_convolution(const std::string &name, const std::string &from, const std::string &channels,
                      const std::string &bias) {
    std::vector<Operand> reads = {value(from), tensor(tensor_name(name) + ".weight")};
    if (bias != "0") reads.push_back(tensor(tensor_name(name) + ".bias"));
    return {name,
            "conv2d",
            std::move(reads),
            {size("bias", bias), size("frequency", "0"), size("groups", channels), size("stride_t", "1"),
             size("stride_f", "1")}};
}

std::vector<TensorRow> short_convolution_tensors(const std::string &name, const std::string &channels,
                                                 const std::string &taps, const std::string &bias) {
    std::vector<TensorRow> rows = {
        {tensor_name(name) + ".weight", {channels, "1", taps}, {channels, "1", taps, "1"}}};
    if (bias != "0") rows.push_back({tensor_name(name) + ".bias", {channels}, {}, bias == "1" ? "" : bias});
    return rows;
}

Row norm(const std::string &name, const std::string &from, Operand weight, const std::string &eps,
         const std::string &groups) {
    std::vector<Attribute> attributes = {number("eps", eps)};
    if (groups != "1") attributes.push_back(size("groups", groups));
    return {name, "rms_norm", {value(from), std::move(weight)}, std::move(attributes)};
}

std::vector<Row> layer_norm(const std::string &name, const std::string &from, const std::string &eps,
                            const std::string &width, const std::string &bias, const std::string &groups) {
    std::vector<Attribute> attributes = {number("eps", eps)};
    if (groups != "1") attributes.push_back(size("groups", groups));
    const std::string tensors = tensor_name(name);
    return {{name + "/biased",
             "layer_norm",
             {value(from), tensor(tensors + ".weight"), tensor(tensors + ".bias")},
             attributes,
             bias},
            {name,
             "layer_norm",
             {value(name + "/biased"), tensor(tensors + ".weight"), zeros(width)},
             attributes,
             "!" + bias}};
}

Row scaled(const std::string &name, const std::string &from, const std::string &number,
           const std::string &width, const std::string &when) {
    return {name, "affine", {value(from), filled(number, width), zeros(width)}, {}, when};
}

std::vector<Row> soft_cap(const std::string &name, const std::string &from, const std::string &cap,
                          const std::string &width) {
    return {scaled(name + "/in_caps", from, "1 / " + cap, width),
            {name + "/tanh", "tanh", {value(name + "/in_caps")}},
            scaled(name, name + "/tanh", cap, width)};
}

std::vector<Row> gated_mlp(const std::string &at, const std::string &from, const std::string &activation,
                           const std::string &bias) {
    return {projection(at + "/gate_proj", from, bias),
            projection(at + "/up_proj", from, bias),
            {at + "/activated", "=" + activation, {value(at + "/gate_proj")}},
            {at + "/gated", "mul", {value(at + "/activated"), value(at + "/up_proj")}},
            projection(at + "/down_proj", at + "/gated", bias)};
}

std::vector<TensorRow> gated_mlp_tensors(const std::string &at, const std::string &inner,
                                         const std::string &bias) {
    std::vector<TensorRow> rows = projection_tensors(at + "/gate_proj", inner, "hidden_size", bias);
    append(rows, projection_tensors(at + "/up_proj", inner, "hidden_size", bias));
    append(rows, projection_tensors(at + "/down_proj", "hidden_size", inner, bias));
    return rows;
}

std::vector<TensorRow> tensors_of(const LanguageModel &model) {
    const std::string table = model.table + ".weight";
    return {{table, {"vocab_size", "hidden_size"}, {}, "", "", model.formerly},
            {model.norm + ".weight", {"hidden_size"}},
            {"lm_head.weight", {"vocab_size", "hidden_size"}, {}, "!tie_word_embeddings", table}};
}

std::vector<Row> rows_before(const LanguageModel &model) {
    return {{model.table, "embedding", {value("x"), tensor(model.table + ".weight")}}};
}

std::vector<Row> rows_after(const LanguageModel &model) {
    const std::string weight = model.norm + ".weight";
    return {norm(model.norm, "x", model.plus_one ? plus_one(weight) : tensor(weight), model.eps),
            projection("lm_head", model.norm)};
}

void insert_behind(std::vector<Row> &rows, const std::string &name, const Row &row) {
    for (Row &other : rows)
        for (Operand &read : other.reads)
            if (read.kind == Operand::Kind::value && read.name == name) read.name = row.name;
    for (auto at = rows.begin(); at != rows.end(); ++at)
        if (at->name == name) {
            rows.insert(at + 1, row);
            return;
        }
}

} // namespace longwave::huggingface
