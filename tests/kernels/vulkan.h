// Kernels of GPUs, called with plain buffers as those of CPUs are (check.h): compiled by
// longwave-kgen, checked by spirv-val where there is one, dispatched by plain Vulkan, under the
// validation layers with synchronisation validation where they are installed. libvulkan is loaded
// when it is asked for.
#pragma once
#include "targets/target.h"
#include "tests/kernels/kernel_call.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace longwave::test {

class VulkanDevice {
public:
    // The device of this process; null where there is none, then `why` says why.
    static VulkanDevice *get(std::string &why);

    struct Buffer {
        uint32_t binding;
        void *memory; // read before the dispatch, and written after it
        size_t bytes;
    };
    struct Dispatch {
        std::span<const uint32_t> module;
        std::string entry;
        uint32_t grid[3];
        bool float64; // the module computes with it
    };
    // Runs and waits. Returns "" or what went wrong, messages of the validation layers included.
    std::string run(const Dispatch &dispatch, std::span<const Buffer> buffers);
    bool has_float64() const;
    bool has_storage_16() const;
    const std::string &name() const;
    ~VulkanDevice();

private:
    VulkanDevice();
    struct State;
    std::unique_ptr<State> state_;
};

// A kernel for a gpu with all its variants, the first first. Fault::usage where it has no schedule
// for one.
Expected<std::vector<kernels::Kernel>>
load_gpu_kernels(const std::string &spec, const targets::Target &target, const std::string &kgen);

} // namespace longwave::test
