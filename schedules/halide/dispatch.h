// What is read back from a finished kernel of a gpu: its module and how it is dispatched.
#pragma once
#include "schedules/halide/builder.h"
#include <cstdint>
#include <vector>

namespace longwave::schedules {

struct GpuKernel {
    std::vector<uint32_t> module; // SPIR-V 1.0, valid for Vulkan 1.1
    // The member "gpu" of the signature: {"entry": name, "grid": [x, y, z] workgroups, "local": [x,
    // y, z] threads, "shared_bytes": n,  "bindings": one per argument in call order, -1 for a
    // scalar and for a buffer that the kernel does  not touch, "scalars": binding of the int32
    // buffer that holds all scalars in order, or -1,  "features": [] or ["shaderFloat64"]}. Whoever
    // compiles the kernel adds "variants": how many there are
    nlohmann::json dispatch;
};

// Throws SpecError when the pipeline is not exactly one dispatch of static sizes, or needs more
// than the target has.
GpuKernel gpu_kernel(const std::string &kernel, const KernelBuilder &builder, const Halide::Module &module);

// The same of a kernel that is written out (KernelBuilder::written).
GpuKernel written_kernel(const std::string &kernel, const KernelBuilder &builder);

// Halide's target of the kernel: that of the machine, with float64 where an argument is of that
// type.
std::string gpu_target(const KernelBuilder &builder);

} // namespace longwave::schedules
