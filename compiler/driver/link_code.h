// The code of some kernels for one target, apart from a compiled model: for programs that contain
// it.
#pragma once
#include "compiler/plan/options.h"
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

struct LinkedCode {
    std::vector<uint8_t> image;    // free of relocations; some targets need it at a multiple of 4096
    std::vector<uint32_t> entries; // offset of each kernel's function, in the order of the specifications
    uint64_t stack_bytes = 0;      // of the kernel that needs most; 0: not known for this target
};

// `specs`: of kernels that `options` compiled. They come from the cache, or are compiled again.
// Errors: as compile.
Expected<LinkedCode> link_code(const std::vector<std::string> &specs, const std::string &target,
                               const Options &options);

// A library with one object, which contains a model (formats/artifact/static_model.h): the code as
// a section of its own, and the constants `model` with the address of the code filled in when the
// program is linked. `symbol`: what the program calls the model. Nothing but a linker for the
// target is needed to use it.
Expected<std::vector<uint8_t>> static_library(const std::string &symbol, const std::string &target,
                                              const std::vector<uint8_t> &image,
                                              const std::vector<uint8_t> &model);

} // namespace longwave::compiler
