// AVX-512 with BW, CD, DQ and VL: servers since 2017, desktops since 2022.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

Target x86_64_v4() {
    return {
        .name = "x86-64-v4",
        .halide = "x86-64-linux-sse41-avx-avx2-fma-f16c-avx512-avx512_skylake" + kernel_options,
        .vector_lanes = 16,
        .vector_registers = 32,
        .fused_multiply_add = true,
        .integer_pairs = true,
        .features = artifact::x86_64_v4,
        .relative_time = 0.78,
        .elf_machine = artifact::machine_x86_64,
        .emulation = "elf_x86_64",
        .shim = "x86_64",
    };
}

} // namespace longwave::targets
