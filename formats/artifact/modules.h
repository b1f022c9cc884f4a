// Read access to what a GPU runs: the `modules` segments of a verified artifact, each checked by
// rule V21 (docs/artifact-format.md) when it is opened. Apart from verify.h, for only who uses a
// GPU, or says what is in a file, reads it.
#pragma once
#include "formats/artifact/verify.h"
#include "formats/artifact/view.h"
#include <cstdint>

namespace longwave::fb {
struct Chain;
struct Module;
struct Modules;
} // namespace longwave::fb

namespace longwave::artifact {

// Of Modules.features and Module.bindings.
inline constexpr uint32_t gpu_float64 = 1, gpu_storage_16 = 2,
                          known_gpu_features = gpu_float64 | gpu_storage_16;
inline constexpr uint8_t unbound = 255;
// Modules of a kernel with its variants.
inline constexpr uint32_t most_variants = 8;

// The kernels of one GPU target. Whoever holds one may follow every index, offset and size in it.
class ModulesView {
public:
    ModulesView() = default; // empty: `if (view)` is false
    explicit operator bool() const { return modules_ != nullptr; }
    const fb::Modules &manifest() const { return *modules_; }
    const fb::Module *of_kernel(uint32_t kernel) const; // null: an entry of the CPU alone calls it
    // Of a kernel that has a module: with that one, and the one of that number, 0 being the module.
    uint32_t variants_of(uint32_t kernel) const;
    const fb::Module &variant(uint32_t kernel, uint32_t number) const;
    uint32_t chain_count() const;
    const fb::Chain &chain(uint32_t index) const; // by entry and first step
    Bytes code(const fb::Module &module) const;   // SPIR-V, 4-aligned
    Bytes code(const fb::Chain &chain) const;     // likewise

private:
    friend Broken open_modules(const fb::Plan &, const Bytes &, ModulesView *);
    const fb::Modules *modules_ = nullptr;
    Bytes segment_;
};

// Checks a segment of that kind against its plan, which has been verified; `out` is set only when
// nothing is broken, and refers to both. The bytes are 8-aligned and must not change: who maps a
// file gives a copy.
[[nodiscard]] Broken open_modules(const fb::Plan &plan, const Bytes &segment, ModulesView *out);

} // namespace longwave::artifact
