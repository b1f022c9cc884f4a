// A package from a configuration and its tensors.
#pragma once
#include "formats/huggingface/config.h"
#include "formats/package/package.h"

namespace longwave::huggingface {

// The tensors that the files must hold, with their shapes. UINT64_MAX: a size that does not fit.
std::map<std::string, std::vector<uint64_t>> tensors_of(const Config &config);

// Removes the tensors of other parts that the table names. The result tells each part, for people.
std::vector<std::string> skip_unread(const Config &config, std::map<std::string, package::Tensor> &tensors);

// Tokens in, logits out. Refused: tensors that are missing, that nothing reads, or of another shape.
Expected<package::Package> build(const Config &config, std::map<std::string, package::Tensor> tensors);

} // namespace longwave::huggingface
