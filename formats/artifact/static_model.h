// A model that a program contains (`longwave compile --emit static`): what the linker puts in front of its bytes. The writer
// has verified them against every rule, so a device checks this stamp and no more.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

inline constexpr uint8_t static_magic[8] = {'L', 'W', 'S', 'T', 'A', 'T', 'I', 'C'};
inline constexpr uint16_t static_layout = 1; // of the struct below; a reader takes its own alone

// Constant, 64-aligned. The artifact follows it: without code, without `prepare`, with the derived tables among its
// weights. Its one code variant is the program's.
struct StaticModel {
    uint8_t magic[8];
    uint16_t layout;
    uint16_t machine;   // ELF e_machine of the code
    uint32_t functions; // one for each kernel of the plan
    uint64_t features;  // of the CPU, that the code needs
    int64_t image;      // from this field to the code: the linker fills it in, on 32-bit machines its first half
    uint64_t file, file_bytes; // from the start of this struct to the artifact; its bytes
    uint64_t entries;   // from the start of this struct to `functions` offsets into the code, 32 bits each
    uint64_t reserved;

    const uint8_t *at(uint64_t offset) const { return reinterpret_cast<const uint8_t *>(this) + offset; }
    // Where the code begins.
    const uint8_t *code() const { return at(offsetof(StaticModel, image)) + static_cast<ptrdiff_t>(image); }
};
static_assert(sizeof(StaticModel) == 64 && offsetof(StaticModel, image) == 24);

} // namespace longwave::artifact
