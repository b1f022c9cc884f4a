// SSE4.2: any x86-64 machine since 2009.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

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

} // namespace longwave::targets
