#include "formats/huggingface/architectures.h"

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
            {"lm_head", "linear", {value("backbone.norm_f"), tensor("lm_head.weight")}, {size("bias", "0")}}};
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
