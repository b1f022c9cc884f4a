#include "compiler/codegen/elf_stack.h"
#include "compiler/codegen/elf_input.h"
#include <cstring>
#include <elf.h>

namespace longwave::compiler {

// Each entry is the address of a function, which a relocation fills in, and a ULEB128 number.
Expected<uint64_t> stack_bytes(const std::vector<uint8_t> &object, const targets::Target &target) {
    if (object.size() <= EI_CLASS || std::memcmp(object.data(), ELFMAG, SELFMAG) != 0)
        return uint64_t{0}; // WebAssembly
    LW_ASSIGN(const ElfInput elf, read_elf(object, target.elf_machine));
    const size_t address = object[EI_CLASS] == ELFCLASS32 ? 4 : 8;
    uint64_t sum = 0;
    for (const ElfSection &section : elf.sections) {
        if (section.name != ".stack_sizes") continue;
        for (size_t at = address; at < section.bytes.size(); at += address) {
            uint64_t size = 0;
            for (unsigned shift = 0;; shift += 7, at++) {
                if (at >= section.bytes.size() || shift > 28)
                    return Status::internal("a kernel object is damaged: its sizes of stack frames");
                size |= uint64_t{section.bytes[at] & 0x7fu} << shift;
                if (section.bytes[at] < 0x80) break;
            }
            at++;
            sum += size;
        }
    }
    return sum;
}

} // namespace longwave::compiler
