// 64-bit ARM.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

// 64-bit ARM: NEON and fused multiply-add are in every such machine.
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

// 64-bit ARM that multiplies int8 and adds four products in one instruction: since Armv8.2, optional
// there, and in every machine of Armv8.4.
Target arm64_dotprod() {
    Target target = arm64();
    target.name = "arm64-dotprod";
    target.halide += "-armv82a-arm_dot_prod";
    target.features = artifact::feature_arm_dotprod;
    return target;
}

} // namespace longwave::targets
