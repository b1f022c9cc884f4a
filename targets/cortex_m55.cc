// Arm Cortex-M55 with Helium, for firmware: Thumb code, vectors of four float32 in eight registers,
// fused multiply-add.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

// Halide has no M profile. Its code for ARM without NEON has plain LLVM vectors, of which clang
// makes Helium.
Target cortex_m55() {
    return {
        .name = "cortex-m55",
        .halide = "arm-32-noos-no_neon" + kernel_options,
        .vector_lanes = 4,
        .vector_registers = 8,
        .fused_multiply_add = true,
        .features = artifact::feature_helium,
        .relative_time = 1.9, // not measured: that of x86-64-v2, which has vectors as wide
        .elf_machine = artifact::machine_arm,
        .emulation = "armelf_linux_eabi",
        .shim = "thumb",
        .thumb = true,
        .loads_code = false,
        // The triple of Linux has the plain names of memcpy and memset, which code images contain.
        .clang = {"--target=thumbv8.1m.main-linux-gnueabihf", "-mcpu=cortex-m55", "-mfloat-abi=hard"},
    };
}

} // namespace longwave::targets
