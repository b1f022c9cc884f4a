// What a machine is, as data: one file per machine, one line each in target.cc.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::targets {

enum class Kind { cpu, gpu };
enum class ObjectFormat { elf, wasm };

struct Target {
    std::string name; // "x86-64-v3": what users write and artifacts say
    Kind kind = Kind::cpu;
    std::string halide;   // Halide target string of its kernels
    int vector_lanes = 4; // float32 lanes of one natural vector
    int vector_registers = 16;
    bool fused_multiply_add = false;
    bool integer_pairs = false; // one instruction multiplies int16 and adds the products in pairs to int32
    bool paired_loads = false;  // one instruction loads two neighbouring vectors, at a short offset only
    bool vector_offsets = true; // a vector is loaded from a register and an offset
    int64_t first_cache = 32 << 10, second_cache = 1 << 20; // bytes that a core has to itself, at least
    uint64_t features = 0; // CPU features its code needs (formats/artifact/features.h)
    // Of long convolutions, to x86-64-v3, whose costs the planner has: medians of the kernels in
    // docs/benchmarks.md.
    double relative_time = 1;
    uint16_t elf_machine = 0; // artifact::Machine: e_machine of its objects, or a number of our own
    ObjectFormat objects = ObjectFormat::elf;
    std::string emulation;         // of the linker, -m
    std::string shim;              // its build of the scratch allocator (compiler/CMakeLists.txt)
    bool thumb = false;            // the address of a function has its lowest bit set
    bool by_name = false;          // no default, test or measurement takes it unless it is named
    bool loads_code = true;        // false: only a program that contains the code can run it (--emit static)
    bool separate_weights = false; // of such programs: a file beside them, because they come over a network
    // Empty: Halide makes the objects. Otherwise Halide writes LLVM assembly for `halide`, and
    // clang compiles it with these flags: for machines that Halide has no name for.
    std::vector<std::string> clang{};

    // Of a gpu, instead of what stands from `vector_registers` on. A kernel may need less; a device
    // must offer this much, but for `registers`.
    int shared_bytes = 0; // memory that a workgroup shares (maxComputeSharedMemorySize)
    int threads = 0;      // of a workgroup (maxComputeWorkGroupInvocations, and the size along x and y)
    int group_count = 0;  // workgroups along each dimension of a dispatch (maxComputeWorkGroupCount)
    int group_depth = 0;  // threads of a workgroup along z
    // float32 values that a thread may keep when a workgroup has all its threads. Drivers do not say
    // how many there are. Code that keeps more is slow but right.
    int registers = 0;
    int buffers = 0; // storage buffers that one kernel is bound to (maxPerStageDescriptorStorageBuffers)
};

// What every kernel is compiled with: nothing of Halide's runtime, no checks inside (the runtime
// checks every argument against the signature at open).
inline const std::string kernel_options = "-no_runtime-no_asserts-no_bounds_query-user_context";

// Of a gpu: host code is made only to read from it what a dispatch is.
inline const std::string vulkan_options = "x86-64-linux-sse41-vulkan" + kernel_options;

Target arm64();
Target arm64_dotprod();
Target armv7();
Target armv7_vfp4();
Target cortex_m55();
Target x86_64_v2();
Target x86_64_v3();
Target x86_64_v4();
Target x86_64_zen4();
Target wasm32();
Target vulkan_16k();
Target vulkan_32k();

const std::vector<Target> &all();          // processors
const Target *find(std::string_view name); // of a CPU; null: no such target
const std::vector<Target> &gpus();
const Target *find_gpu(std::string_view name);
std::vector<Target> for_machine(uint16_t elf_machine); // those that load code, not `by_name`

// How a file of longwave-kgen ends for a target of either kind: ".o", ".ll" or ".spv".
const char *kernel_suffix(std::string_view name);

} // namespace longwave::targets
