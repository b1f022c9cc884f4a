// Relocatable WebAssembly objects, read and written: the sections and symbols that the compiler
// needs of them. The format: github.com/WebAssembly/tool-conventions, Linking.md.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace longwave::compiler {

// An object with one constant, in which the linker fills in places of 32 bits.
struct WasmConstant {
    std::string symbol; // of the constant
    const std::vector<uint8_t> &data;
    // Offset, and `int f(void **)` whose number goes there.
    std::vector<std::pair<uint32_t, std::string>> functions{};
    // Offset, and the constant whose address goes there.
    std::vector<std::pair<uint32_t, std::string>> addresses{};
};
std::vector<uint8_t> wasm_constant(const WasmConstant &constant);

// Bytes of its code and data. 0: it is not a WebAssembly object.
uint64_t wasm_code_bytes(const std::vector<uint8_t> &object);

// Hides every symbol but `symbol` from other objects, so that several models fit into one program.
// Errors: Fault::internal when it is not an object that a linker wrote, or leaves functions or data
// undefined.
Status keep_only(std::vector<uint8_t> &object, const std::string &symbol);

} // namespace longwave::compiler
