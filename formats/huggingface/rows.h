// Rows and tensors that tables share. A tensor has the name of its row with '.' for '/'.
#pragma once
#include "formats/huggingface/architecture.h"

namespace longwave::huggingface {

// ---- operands and attributes ----

Operand value(std::string name);
Operand tensor(std::string name);
// -exp of each element.
Operand minus_exp(std::string name);
// Each element `each` times.
Operand spread(std::string name, std::string each);
// All elements `times` times.
Operand repeated(std::string name, std::string times);
// 1 + each element, all `times` times.
Operand plus_one(std::string name, std::string times = "1");
Operand filled(std::string number, std::string count);
Operand zeros(std::string count);
Operand ones(std::string count);
Operand places(std::string first, std::string count, std::string each = "1");
Operand grouped_places(std::vector<Operand::Part> parts, std::string groups, std::string stride,
                       std::string repeats = "1");

Attribute size(std::string name, std::string of);
Attribute number(std::string name, std::string of);
Attribute text(std::string name, std::string of);

// ---- rows ----

// "a.b" for "a/b".
std::string tensor_name(std::string row);
// Elements of `from`: the places from `first` on, each `each` times.
Row taken(const std::string &name, const std::string &from, const std::string &first,
          const std::string &count, const std::string &each = "1");
Row taken(const std::string &name, const std::string &from, Operand places, const std::string &when = "");
// A matrix multiplication with NAME.weight, and NAME.bias where the size `bias` is not 0.
Row projection(const std::string &name, const std::string &from, const std::string &bias = "0");
std::vector<TensorRow> projection_tensors(const std::string &name, const std::string &out,
                                          const std::string &in, const std::string &bias = "0");
// A causal convolution of each of `channels` with NAME.weight of `taps`, and NAME.bias as above.
Row short_convolution(const std::string &name, const std::string &from, const std::string &channels,
                      const std::string &bias = "0");
std::vector<TensorRow> short_convolution_tensors(const std::string &name, const std::string &channels,
                                                 const std::string &taps, const std::string &bias = "0");
// rms_norm with a list of weights.
Row norm(const std::string &name, const std::string &from, Operand weight, const std::string &eps,
         const std::string &groups = "1");
// layer_norm with NAME.weight, and NAME.bias where the size `bias` is not 0.
std::vector<Row> layer_norm(const std::string &name, const std::string &from, const std::string &eps,
                            const std::string &width, const std::string &bias,
                            const std::string &groups = "1");
// Times a number, in all of `width` features. `when`: as of a row; a number holds where it is not 1.
Row scaled(const std::string &name, const std::string &from, const std::string &number,
           const std::string &width, const std::string &when = "");
// cap * tanh(x / cap), in all of `width` features; the last row is NAME.
std::vector<Row> soft_cap(const std::string &name, const std::string &from, const std::string &cap,
                          const std::string &width);

// A feed-forward part at `at`: down_proj(activation(gate_proj x) * up_proj x).
std::vector<Row> gated_mlp(const std::string &at, const std::string &from, const std::string &activation,
                           const std::string &bias = "0");
std::vector<TensorRow> gated_mlp_tensors(const std::string &at, const std::string &inner,
                                         const std::string &bias = "0");

// Of a language model that ends with a norm and a matrix, which may be the table of its embedding.
struct LanguageModel {
    std::string table = "model.embed_tokens", norm = "model.norm", eps = "rms_norm_eps";
    bool plus_one = false;     // the norm adds 1 to its weights
    std::string formerly = {}; // another name of the table
};
std::vector<TensorRow> tensors_of(const LanguageModel &model);
std::vector<Row> rows_before(const LanguageModel &model);
std::vector<Row> rows_after(const LanguageModel &model);

// ---- lists ----

template <class T> void append(std::vector<T> &to, const std::vector<T> &more) {
    to.insert(to.end(), more.begin(), more.end());
}
// Puts `row` behind the row `name`. What read `name` reads `row`.
void insert_behind(std::vector<Row> &rows, const std::string &name, const Row &row);

} // namespace longwave::huggingface
