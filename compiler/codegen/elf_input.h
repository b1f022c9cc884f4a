// A relocatable ELF object as the linker sees it (elf_image.cc): sections, symbols and relocations
// of 32 and 64 bits in one form.
#pragma once
#include "formats/base/expected.h"
#include "targets/target.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::compiler {

struct ElfRelocation {
    uint64_t offset; // in its section
    uint32_t type, symbol;
    int64_t addend;
    bool addend_in_place; // 32-bit objects keep it in the bytes that the relocation changes
};

struct ElfSection {
    std::string_view name;
    uint32_t type = 0;
    uint64_t flags = 0, size = 0, alignment = 1, entry_size = 0;
    std::span<const uint8_t> bytes; // empty for sections without content in the file
    std::vector<ElfRelocation> relocations;
};

struct ElfSymbol {
    std::string_view name;
    uint64_t value = 0;
    uint32_t section = 0; // 0: not defined here
    bool local = false, weak = false, absolute = false, names_section = false;
};

// Names and bytes point into the object.
struct ElfInput {
    std::vector<ElfSection> sections; // by index; 0 is empty
    std::vector<ElfSymbol> symbols;   // by index; 0 is empty
};

// Errors: Fault::internal for anything but a whole little-endian relocatable object of this
// machine.
Expected<ElfInput> read_elf(std::span<const uint8_t> object, uint16_t machine);

// The stack that a kernel needs, from its object.

// Bytes of stack of all functions in the object together, from the sections that clang writes with
// -fstack-size-section. A kernel never calls a function twice at a time, so it needs at most these.
// 0: the object has no such section, as those that Halide itself writes.
Expected<uint64_t> stack_bytes(const std::vector<uint8_t> &object, const targets::Target &target);

} // namespace longwave::compiler
