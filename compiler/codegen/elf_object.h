// Objects of ELF machines for programs that contain a model (object_format.h).
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

// Two sections: the code image, and a constant artifact::StaticModel with what follows it. The one
// relocation is StaticModel::image, relative to itself: it holds wherever the program lies.
Expected<std::vector<uint8_t>> elf_static_object(const std::string &symbol, const targets::Target &target,
                                                 const std::vector<uint8_t> &image,
                                                 const std::vector<uint8_t> &model);

} // namespace longwave::compiler
