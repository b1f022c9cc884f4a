// A model that a program contains (`longwave compile --emit static`): what the linker puts in front
// of its bytes. The writer has verified them against every rule, so a device checks this stamp and
// no more.
#pragma once
#include <cstddef>
#include <cstdint>

namespace longwave::artifact {

inline constexpr uint8_t static_magic[8] = {'L', 'W', 'S', 'T', 'A', 'T', 'I', 'C'};
inline constexpr uint16_t static_layout = 2; // of the struct below; a reader takes its own alone

// Constant, 64-aligned. The artifact follows it: without code, without `prepare`, with the derived
// tables among its weights. Its one code variant is the program's.
struct StaticModel {
    uint8_t magic[8];
    uint16_t layout;
    uint16_t machine;   // artifact::Machine of the code
    uint32_t functions; // one for each kernel of the plan
    uint64_t features;  // of the CPU, that the code needs
    // From this field to the code; in WebAssembly the address of a table of functions, 32 bits
    // each. The linker fills it in, on 32-bit machines its first half.
    int64_t image;
    uint64_t file, file_bytes; // from the start of this struct to the artifact; its bytes
    // From the start of this struct to `functions` offsets into the code, 32 bits each.
    uint64_t entries;
    // 0: the weights are in the artifact. Else they are elsewhere, behind a WeightsFront with this
    // stamp.
    uint64_t weights;

    const uint8_t *at(uint64_t offset) const { return reinterpret_cast<const uint8_t *>(this) + offset; }
    // The function of a kernel.
    const void *function(uint32_t kernel) const {
#if defined(__wasm__) // functions have numbers
        return reinterpret_cast<const void *const *>(static_cast<uintptr_t>(image))[kernel];
#else
        const uint8_t *code = at(offsetof(StaticModel, image)) + static_cast<ptrdiff_t>(image);
        return code + reinterpret_cast<const uint32_t *>(at(entries))[kernel];
#endif
    }
};
static_assert(sizeof(StaticModel) == 64 && offsetof(StaticModel, image) == 24);

// What a file of weights begins with: of a model whose program gets the weights from elsewhere. The
// weights follow it.
inline constexpr uint8_t weights_magic[8] = {'L', 'W', 'W', 'E', 'I', 'G', 'H', 'T'};
struct WeightsFront {
    uint8_t magic[8];
    // The start of the hash of the weights, never 0: those of another model are refused.
    uint64_t stamp;
    uint64_t bytes; // that follow
    uint64_t reserved[5];
};
static_assert(sizeof(WeightsFront) == 64);

} // namespace longwave::artifact
