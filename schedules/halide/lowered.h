// What is read back from a finished kernel: its signature and the memory it will ask for.
#pragma once
#include "schedules/halide/builder.h"
#include <Halide.h>

namespace longwave::schedules {

// The same code without assumptions on where arguments lie. Halide takes what a Func reads of its
// own output for memory it allocated itself, aligned to whole vectors; of inputs and of what it
// writes it assumes nothing.
Halide::Module with_unaligned_arguments(const Halide::Module &module);

// The same code without calls of floorf, where the target rounds by no instruction (ARMv7): the
// integer part, one less where that is larger. exp contains a floor that Halide would only make
// while it generates code.
Halide::Module with_integer_floor(const Halide::Module &module);

// Upper bound of the scratch that the kernel holds at once through halide_malloc, headers and
// alignment included. Throws when an allocation has no constant size, or when the stack frame would
// be large.
uint64_t scratch_bytes(const std::string &kernel, const Halide::Module &module);

// {"args":[{"name":"x","kind":"input","elem":"f32","dims":[[96,1],[4,96]]}, …],"scratch_bytes":0}:
// the extents and strides the code was compiled for.
nlohmann::json signature_json(const KernelBuilder &builder, uint64_t scratch);

// Two intermediates in one memory: half the bytes that cross the caches.

// The same code, with each pair of `builder.shared_memory()` in one allocation. Halide has no word
// for it: to it they are two Funcs.
Halide::Module with_shared_memory(const KernelBuilder &builder, const Halide::Module &module);

// Divisions by constants, without the upper half of a 64-bit product that Halide takes for them:
// few graphics processors compute in 64 bits.

// A lowering pass: what divides an int32 by a constant that is not a power of two does it in int32
// and float32, exactly and rounding down, for every dividend.
class NarrowDivisions : public Halide::Internal::IRMutator {
    using Halide::Internal::IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Div *op) override;
    Halide::Expr visit(const Halide::Internal::Mod *op) override;
};

} // namespace longwave::schedules
