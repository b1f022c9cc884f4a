// What Halide hands out for a Vulkan kernel: a blob of modules with a header each. This reads one
// kernel out of it, every length checked, and what only the SPIR-V itself says: bindings by name,
// the size of a workgroup. No Halide.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace longwave::schedules {

struct SpirvKernel {
    std::string entry;           // name of its entry point
    std::vector<uint32_t> words; // the module
    uint64_t shared_bytes = 0;   // of a workgroup
    uint32_t uniform_buffers = 0, storage_buffers = 0;
};

// The blob of Module::get_device_code_buffer() (Halide 21, src/CodeGen_Vulkan_Dev.cpp), of exactly
// one kernel with static sizes. Throws SpecError for any other.
SpirvKernel read_blob(const uint8_t *bytes, size_t size);

struct SpirvFacts {
    std::array<uint32_t, 3> local{}; // OpExecutionMode LocalSize
    std::map<std::string, uint32_t>
        binding; // of each buffer, by Halide's name of it; all in descriptor set 0
};
SpirvFacts read_facts(const std::vector<uint32_t> &words);

// The same with NoContraction on every sum, difference and product of floats: without it a driver
// may cancel what a compensated sum adds up, and some do.
std::vector<uint32_t> without_contraction(const std::vector<uint32_t> &words);

} // namespace longwave::schedules
