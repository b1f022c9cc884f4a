// 32-bit ARM.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

// 32-bit ARM with NEON and hardware floating point: since 2008.
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

// 32-bit ARM with NEON, VFPv4 and integer division: Cortex-A7, A15, A17 and every Armv8 CPU.
//
// Halide knows no such machine, and avoids the multiply-add of those that it knows. So clang makes the
// objects. It takes vmla, which rounds twice as two instructions do.
Target armv7_vfp4() {
    Target target = armv7();
    target.name = "armv7-vfp4";
    target.fused_multiply_add = true;
    target.features = artifact::feature_neon | artifact::feature_vfp4 | artifact::feature_arm_divide;
    target.by_name = true;
    target.clang = {"--target=armv7a-linux-gnueabihf", "-march=armv7ve", "-mfpu=neon-vfpv4",
                    "-mfloat-abi=hard"};
    return target;
}

} // namespace longwave::targets
