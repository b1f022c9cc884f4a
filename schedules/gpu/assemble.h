// From a list of instructions to a SPIR-V module.
#pragma once
#include "schedules/gpu/program.h"
#include <cstdint>
#include <vector>

namespace longwave::gpu {

// SPIR-V 1.0 for Vulkan 1.1: one entry point, storage buffers in descriptor set 0 with the bindings
// of Program::buffers(). This is the form that rewrites of modules expect (compiler/spirv).
std::vector<uint32_t> assemble(const Program &program);

} // namespace longwave::gpu
