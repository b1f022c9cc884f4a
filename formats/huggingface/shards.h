// The tensors of a folder: model.safetensors, or model.safetensors.index.json and the files it names.
#pragma once
#include "formats/package/package.h"

namespace longwave::huggingface {

// Each tensor comes from the file that the index names for it, and these files hold no others. Large files
// are mapped. Fault::input: all problems.
Expected<std::map<std::string, package::Tensor>> read_tensors(const std::string &folder);

} // namespace longwave::huggingface
