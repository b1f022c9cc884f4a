// What a relocation writes. Only distances are known here: an image has no address of its own.
#pragma once
#include "compiler/codegen/elf_input.h"

namespace longwave::compiler {

// `bytes`: from the place that the relocation changes to the end of its section. Errors:
// Fault::internal for a type that position-independent kernels do not have.
Expected<int64_t> addend_of(const ElfRelocation &relocation, uint16_t machine,
                            std::span<const uint8_t> bytes);

// `target`: the address of the symbol plus the addend; `place`: the address of bytes[0]. Errors:
// Fault::internal for such a type, and for a distance that the instruction cannot hold.
Status relocate(uint32_t type, uint16_t machine, uint64_t target, uint64_t place, std::span<uint8_t> bytes);

} // namespace longwave::compiler
