// The architectures whose folders are read, and what their tables share.
#pragma once
#include "formats/huggingface/architecture.h"

namespace longwave::huggingface {

constexpr double most_width = 1 << 18, most_blocks = 512;

Architecture mamba();
Architecture falcon_mamba();
Architecture mamba2();

const std::vector<Architecture> &architectures();
const Architecture *find_architecture(const std::string &model_type); // null when unknown
// Keys that every config.json may have and that change no result: names, training, generation.
const std::vector<std::string> &always_ignored();

// Of a language model that ends with a norm and a matrix, which may be the table of its embedding.
std::vector<TensorRow> language_model_tensors();
std::vector<Row> rows_before();
std::vector<Row> rows_after();
// Puts `row` behind the row `name`. What read `name` reads `row`.
void insert_behind(std::vector<Row> &rows, const std::string &name, const Row &row);

} // namespace longwave::huggingface
