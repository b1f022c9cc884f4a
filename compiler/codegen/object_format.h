// What the compiler does with object files. Each format is one file or two: elf_image.cc and
// elf_object.cc, wasm_objects.cc.
#pragma once
#include "compiler/codegen/code_image.h"
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longwave::compiler {

// A function each for what code_image.h and static_object() promise.
struct ObjectFormat {
    uint64_t (*code_bytes)(const std::vector<uint8_t> &object);
    Expected<CodeImage> (*link_image)(const std::vector<LinkedKernel> &kernels,
                                      const targets::Target &target);
    Expected<std::vector<uint8_t>> (*static_object)(const std::string &symbol, const targets::Target &target,
                                                    const std::vector<uint8_t> &image,
                                                    const std::vector<uint8_t> &model);
};

const ObjectFormat &elf_objects();
const ObjectFormat &wasm_objects();

// The scratch allocator for the machine of a target (scratch_shim.c).
std::span<const uint8_t> shim_of(const targets::Target &target);

// Object files and archives for programs that contain a model, written without the tools of the
// target's machine.

// An object with the code image, and a constant artifact::StaticModel with what follows it. The
// linker fills in StaticModel::image. The global symbol is the model's.
Expected<std::vector<uint8_t>> static_object(const std::string &symbol, const targets::Target &target,
                                             const std::vector<uint8_t> &image,
                                             const std::vector<uint8_t> &model);

// An archive with that object and its index. Equal arguments give equal bytes.
std::vector<uint8_t> archive_of(const std::string &symbol, const std::vector<uint8_t> &object);

} // namespace longwave::compiler
