#include "formats/huggingface/architectures.h"
#include <algorithm>

namespace longwave::huggingface {

const std::vector<Architecture> &architectures() {
    static const std::vector<Architecture> all = {falcon_mamba(), mamba(), mamba2()};
    return all;
}

const Architecture *find_architecture(const std::string &model_type) {
    for (const Architecture &known : architectures())
        if (known.model_type == model_type) return &known;
    return nullptr;
}

const std::vector<std::string> &always_ignored() {
    static const std::vector<std::string> names = {
        "_attn_implementation_autoset",
        "_commit_hash",
        "_name_or_path",
        "bos_token_id",
        "dtype",
        "eos_token_id",
        "output_hidden_states",
        "pad_token_id",
        "return_dict",
        "torch_dtype", // each tensor of the files has its own
        "transformers_version",
        "use_cache",
    };
    return names;
}

Row taken(const std::string &name, const std::string &from, const std::string &first,
          const std::string &count, const std::string &each) {
    return {name, "take", {value(from), places(first, count, each)}, {size("bands", "1")}};
}

Row projection(const std::string &name, const std::string &from, const std::string &bias) {
    std::string tensors = name;
    std::replace(tensors.begin(), tensors.end(), '/', '.');
    std::vector<Operand> reads = {value(from), tensor(tensors + ".weight")};
    if (bias != "0") reads.push_back(tensor(tensors + ".bias"));
    return {name, "linear", std::move(reads), {size("bias", bias)}};
}

Row short_convolution(const std::string &from, const std::string &channels) {
    return {"mixer/conv1d",
            "conv2d",
            {value(from), tensor("mixer.conv1d.weight"), tensor("mixer.conv1d.bias")},
            {size("bias", "use_conv_bias"), size("frequency", "0"), size("groups", channels),
             size("stride_t", "1"), size("stride_f", "1")}};
}

TensorRow short_convolution_taps(const std::string &channels) {
    return {"mixer.conv1d.weight", {channels, "1", "conv_kernel"}, {channels, "1", "conv_kernel", "1"}};
}

std::vector<TensorRow> language_model_tensors() {
    const std::string table = "backbone.embeddings.weight";
    return {{table, {"vocab_size", "hidden_size"}, {}, "", "", "backbone.embedding.weight"},
            {"backbone.norm_f.weight", {"hidden_size"}},
            {"lm_head.weight", {"vocab_size", "hidden_size"}, {}, "!tie_word_embeddings", table}};
}

std::vector<Row> rows_before() {
    return {{"backbone.embeddings", "embedding", {value("x"), tensor("backbone.embeddings.weight")}}};
}

std::vector<Row> rows_after() {
    return {{"backbone.norm_f",
             "rms_norm",
             {value("x"), tensor("backbone.norm_f.weight")},
             {number("eps", "layer_norm_epsilon")}},
            projection("lm_head", "backbone.norm_f", "0")};
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
