// Links kernel objects into one relocation-free image for one target, with the scratch allocator they call
// (scratch_shim.c).
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

struct CodeImage {
    std::vector<uint8_t> bytes;    // laid out by virtual address; page-aligned base, 64-byte multiple
    std::vector<uint32_t> entries; // offset of each symbol, in the order given
};

// objects[i] defines symbols[i] with the form `int f(void **args)`. Errors: Fault::device when ld.lld is
// missing or fails (with its message), Fault::internal when the result has relocations, undefined symbols or
// writable data.
Expected<CodeImage> link_image(const std::vector<const std::vector<uint8_t> *> &objects,
                               const std::vector<std::string> &symbols, const targets::Target &target);

} // namespace longwave::compiler
