#include "formats/huggingface/architectures.h"

namespace longwave::huggingface {

const std::vector<Architecture> &architectures() {
    static const std::vector<Architecture> all = {
        falcon_h1(),  falcon_mamba(), granitemoehybrid(), lfm2(),         mamba(),      mamba2(),
        nemotron_h(), olmo_hybrid(),  qwen3_5(),          qwen3_5_text(), qwen3_next(), recurrent_gemma(),
        rwkv7(),      xlstm()};
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

} // namespace longwave::huggingface
