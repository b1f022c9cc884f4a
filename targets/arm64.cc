// 64-bit ARM: NEON and fused multiply-add are in every such machine.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

Target arm64() {
    return {
        .name = "arm64",
        .halide = "arm-64-linux" + kernel_options,
        .vector_lanes = 4,
        .vector_registers = 32,
        .fused_multiply_add = true,
        .paired_loads = true,
        .features = 0,
        .relative_time = 1.9, // not measured: that of x86-64-v2, which has vectors as wide
        .elf_machine = artifact::machine_aarch64,
        .emulation = "aarch64linux",
        .shim = "aarch64",
    };
}

} // namespace longwave::targets
