// The architectures whose folders are read.
#pragma once
#include "formats/huggingface/architecture.h"

namespace longwave::huggingface {

constexpr double most_width = 1 << 18, most_heads = 4096, most_blocks = 512, most_factor = 1 << 20;
// Why blocks of experts are refused.
inline constexpr char no_experts[] =
    "which experts a token goes to depends on its numbers, and no op here chooses matrices";

Architecture falcon_h1();
Architecture falcon_mamba();
Architecture granitemoehybrid();
Architecture lfm2();
Architecture mamba();
Architecture mamba2();
Architecture nemotron_h();
Architecture olmo_hybrid();
Architecture qwen3_5();
Architecture qwen3_5_text();
Architecture qwen3_next();
Architecture recurrent_gemma();
Architecture rwkv7();
Architecture xlstm();

const std::vector<Architecture> &architectures();
const Architecture *find_architecture(const std::string &model_type); // null when unknown
// Keys that every config.json may have and that change no result: names, training, generation.
const std::vector<std::string> &always_ignored();

} // namespace longwave::huggingface
