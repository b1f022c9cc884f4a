// WebAssembly with vectors of 128 bits, which every browser has had since 2023 and every server
// engine has.
#include "formats/artifact/features.h"
#include "targets/target.h"

namespace longwave::targets {

Target wasm32() {
    return {
        .name = "wasm32",
        .halide = "wasm-32-wasmrt-wasm_simd128-wasm_bulk_memory" + kernel_options,
        .vector_lanes = 4,
        .vector_registers = 16, // of the machine that runs it: x86-64 has the fewest
        .fused_multiply_add = false,
        .features = 0,        // an engine checks the module as a whole before it runs any of it
        .relative_time = 1.9, // not measured: that of x86-64-v2, which has vectors as wide
        .elf_machine = artifact::machine_wasm32,
        .objects = ObjectFormat::wasm,
        .emulation = "wasm32",
        .shim = "wasm32",
        .loads_code = false,
        .separate_weights = true,
    };
}

} // namespace longwave::targets
