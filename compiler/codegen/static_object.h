// Object files and archives for programs that contain a model, written without the tools of the
// target's machine.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

// An object with the code image, and a constant artifact::StaticModel with what follows it. The
// linker fills in StaticModel::image. The global symbol is the model's.
Expected<std::vector<uint8_t>> static_object(const std::string &symbol, const targets::Target &target,
                                             const std::vector<uint8_t> &image,
                                             const std::vector<uint8_t> &model);

// An archive with that object and its index. Equal arguments give equal bytes.
std::vector<uint8_t> archive_of(const std::string &symbol, const std::vector<uint8_t> &object);

} // namespace longwave::compiler
