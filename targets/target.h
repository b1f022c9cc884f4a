// What a machine is, as data: one file per machine, one line each in target.cc.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::targets {

struct Target {
    std::string name;     // "x86-64-v3": what users write and artifacts say
    std::string halide;   // Halide target string of its kernels
    int vector_lanes = 4; // float32 lanes of one natural vector
    int vector_registers = 16;
    bool fused_multiply_add = false;
    int64_t first_cache = 32 << 10, second_cache = 1 << 20; // bytes that a core has to itself, at least
    uint64_t features = 0;    // CPU features its code needs (formats/artifact/features.h)
    uint16_t elf_machine = 0; // e_machine of its objects
    std::string emulation;    // ld.lld -m
};

// What every kernel is compiled with: nothing of Halide's runtime, no checks inside (the runtime checks every
// argument against the signature at open).
inline const std::string kernel_options = "-no_runtime-no_asserts-no_bounds_query-user_context";

Target x86_64_v2();
Target x86_64_v3();
Target x86_64_v4();

const std::vector<Target> &all();
const Target *find(std::string_view name); // null: no such target
std::vector<Target> for_machine(uint16_t elf_machine);

} // namespace longwave::targets
