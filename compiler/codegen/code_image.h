// Links kernel objects into one relocation-free image for one target, with the scratch allocator
// they call (scratch_shim.c).
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

// One function of the image.
struct LinkedKernel {
    const std::vector<uint8_t> *object; // defines `symbol` with the form `int f(void **args)`
    std::string symbol;
    uint64_t scratch_bytes; // what it needs: stands in the 8 bytes before its entry, where rule V11 reads it
};

struct CodeImage {
    std::vector<uint8_t> bytes; // laid out by virtual address; page-aligned base, 64-byte multiple
    // The offset of each kernel, in the order given. Thumb code: without the bit that marks it.
    std::vector<uint32_t> entries;
};

// Bytes of code and constants that an object brings into an image. 0: it is not an object of the
// target.
uint64_t code_bytes(const std::vector<uint8_t> &object, const targets::Target &target);

// Each object has a section of its own for each function, as kgen writes them. What no kernel
// reaches is left out. Errors: Fault::internal when the image would need an address, or has
// undefined symbols or writable data, or lacks a kernel. Fault::device for WebAssembly, whose
// linker is another program.
Expected<CodeImage> link_image(const std::vector<LinkedKernel> &kernels, const targets::Target &target);

} // namespace longwave::compiler
