// 32-bit ARM with NEON and hardware floating point: since 2008.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

Target armv7() {
    return {
        .name = "armv7",
        .halide = "arm-32-linux" + kernel_options,
        .vector_lanes = 4,
        .vector_registers = 16,
        .fused_multiply_add = false,
        .vector_offsets = false,
        .features = artifact::feature_neon,
        .relative_time = 1.9, // not measured: that of x86-64-v2, which has vectors as wide
        .elf_machine = artifact::machine_arm,
        .emulation = "armelf_linux_eabi",
        .shim = "arm",
    };
}

} // namespace longwave::targets
