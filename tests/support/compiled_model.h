// From a model package to rows in one line each, for tests whose subject is what a compiled model
// computes.
#pragma once
#include "compiler/driver/compile.h"
#include "formats/package/package.h"
#include "tools/cli/model/model.h"
#include <map>
#include <string>
#include <vector>

namespace longwave::test {

using Tensors = std::map<std::string, package::Tensor>;

// For this CPU, with the kernel compiler of this build and the kernels that its tests share.
compiler::Options options_here();
Expected<compiler::Compiled> compiled(const std::string &model_json, Tensors weights,
                                      const compiler::Options &options);
// The bytes of a small model: a linear layer, `activation`, another linear layer, and a mean over
// the last four rows, which its stream remembers. Offline runs of up to `length` rows.
std::vector<uint8_t> two_linear_layers(const std::string &name, const std::string &activation,
                                       uint32_t length = 32);
// Opened; a failure of either fails the test, with its message.
cli::Model opened(const Expected<compiler::Compiled> &compiled);

using Outputs = std::vector<std::vector<float>>; // the rows of each

cli::Sequence sequence_of(std::vector<float> x, size_t width);
// All outputs of a whole run.
Outputs outputs_of_run(const cli::Model &model, const cli::Sequence &in);

cli::OnRow into(Outputs &rows);
// The first output of one stream entry, its rows from `first` on; `ticks` of x pushed at once, and
// finished.
std::vector<float> streamed(const cli::Model &model, const float *x, size_t ticks, uint32_t entry = 0,
                            size_t first = 0);

bool same_bits(const std::vector<float> &a, const std::vector<float> &b); // and not empty
// Bytes that all carried fields of the state take. Fails the test where a field is a copy of
// another.
uint64_t carried_bytes(const cli::Model &model);

} // namespace longwave::test
