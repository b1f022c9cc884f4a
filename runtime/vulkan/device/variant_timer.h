// Times the variants of kernels on the device, each on its own. The values that they compute with
// do not matter: no kernel with variants branches on them.
#pragma once
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/device/pipelines.h"

namespace longwave::runtime::vulkan {

// Times by the device's own clock, between two points of a command buffer. They hold no submission
// and no wait of the host.

// Whether the queue of the device has a clock. Without one, create returns LW_UNSUPPORTED.
bool has_timestamps(const Gpu &gpu);

// Spans of one command buffer, by number.
class Timestamps {
public:
    // What a failure leaves, destroy gives back.
    lw_status create(const Gpu &gpu, uint32_t spans);
    void destroy(const Gpu &gpu);
    // Both are recorded. A span begins after all that stands before it, and ends after all that
    // stands in it. A command buffer may be submitted again: the times of its last run count.
    void begin(const Gpu &gpu, VkCommandBuffer commands, uint32_t span) const;
    void end(const Gpu &gpu, VkCommandBuffer commands, uint32_t span) const;
    // After the device has done the work: does not wait for it.
    lw_status elapsed(const Gpu &gpu, uint32_t span, double *ns) const;

private:
    VkQueryPool pool_ = VK_NULL_HANDLE;
    uint64_t mask_ = 0; // the bits of a timestamp that count
};

// The device memory that timing takes while a model is opened: for the largest kernel of a GPU.
uint64_t timer_bytes(const fb::Plan &plan);

class VariantTimer {
public:
    VariantTimer(const Gpu &gpu, const artifact::ModulesView &modules, const fb::Plan &plan,
                 VkPipelineCache cache)
        : gpu_(gpu), modules_(modules), plan_(plan), cache_(cache) {}
    ~VariantTimer();
    VariantTimer(const VariantTimer &) = delete;

    // Chooses for a kernel that has variants. It keeps the first one if no other is faster by a few
    // percent, if the arguments are too large or memory is short, the device has no clock, or the
    // time for all kernels of a model is used up. Errors are those of the device.
    lw_status choose(uint32_t kernel, Choice *choice);

private:
    struct Candidate {
        Pipeline pipeline;
        VkDescriptorSet set = VK_NULL_HANDLE;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        uint32_t number = 0, dispatches = 1;
        double us = 0;
    };
    lw_status start();
    lw_status compile_all(uint32_t kernel, Candidate *list, uint32_t *n);
    lw_status time_all(uint32_t kernel, Candidate *list, uint32_t n);
    lw_status bind(const fb::Kernel &kernel, Candidate &candidate);
    lw_status record(Candidate &candidate);
    lw_status time_once(Candidate &candidate, double *us);

    const Gpu &gpu_;
    const artifact::ModulesView &modules_;
    const fb::Plan &plan_;
    const VkPipelineCache cache_;
    bool started_ = false, short_of_memory_ = false;
    double spent_us_ = 0;
    DeviceBuffer memory_; // zeros for tables and scalars, then the arguments of a kernel
    Commands commands_;
    VkCommandBuffer buffers_[artifact::most_variants] = {};
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    Timestamps clock_;
};

} // namespace longwave::runtime::vulkan
