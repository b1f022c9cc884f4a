// x86-64 CPUs, by level.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

// SSE4.2: any x86-64 machine since 2009.
Target x86_64_v2() {
    return {
        .name = "x86-64-v2",
        .halide = "x86-64-linux-sse41" + kernel_options,
        .vector_lanes = 4,
        .vector_registers = 16,
        .fused_multiply_add = false,
        .integer_pairs = true,
        .features = artifact::x86_64_v2,
        .relative_time = 1.9,
        .elf_machine = artifact::machine_x86_64,
        .emulation = "elf_x86_64",
        .shim = "x86_64",
    };
}

// AVX2 and FMA: since 2013.
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

// AVX-512 with BW, CD, DQ and VL: servers since 2017, desktops since 2022.
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

// AVX-512 with integer products of four bytes (VNNI): AMD since Zen 4, 2022. Only where it is asked
// for: with float32 weights its kernels are no faster than those of x86-64-v4.
//
// Halide's name for this CPU brings instructions that no other maker has (SSE4a), so code for it
// asks for all of them.
Target x86_64_zen4() {
    Target target = x86_64_v4();
    target.name = "x86-64-zen4";
    target.halide += "-avx512_cannonlake-avx512_zen4";
    target.features = artifact::x86_64_zen4;
    target.by_name = true;
    return target;
}

} // namespace longwave::targets
