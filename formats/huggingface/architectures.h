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

// Rows that blocks share. A tensor has the name of its row with '.' for '/'.

// Elements of `from`: the places from `first` on, each `each` times.
Row taken(const std::string &name, const std::string &from, const std::string &first,
          const std::string &count, const std::string &each = "1");
// A matrix multiplication with NAME.weight, and NAME.bias where the size `bias` is not 0.
Row projection(const std::string &name, const std::string &from, const std::string &bias);
// The short causal convolution of Mamba, mixer/conv1d, a filter for each of `channels`.
Row short_convolution(const std::string &from, const std::string &channels);
TensorRow short_convolution_taps(const std::string &channels);

// Of a language model that ends with a norm and a matrix, which may be the table of its embedding.
std::vector<TensorRow> language_model_tensors();
std::vector<Row> rows_before();
std::vector<Row> rows_after();
// Puts `row` behind the row `name`. What read `name` reads `row`.
void insert_behind(std::vector<Row> &rows, const std::string &name, const Row &row);

} // namespace longwave::huggingface
