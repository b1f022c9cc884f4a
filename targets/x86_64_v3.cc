// AVX2 and FMA: since 2013.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

Target x86_64_v3() {
    return {
        .name = "x86-64-v3",
        .halide = "x86-64-linux-sse41-avx-avx2-fma-f16c" + kernel_options,
        .vector_lanes = 8,
        .vector_registers = 16,
        .fused_multiply_add = true,
        .integer_pairs = true,
        .features = artifact::x86_64_v3,
        .elf_machine = artifact::machine_x86_64,
        .emulation = "elf_x86_64",
        .shim = "x86_64",
    };
}

} // namespace longwave::targets
