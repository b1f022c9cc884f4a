// Times by the device's own clock, between two points of a command buffer. They hold no submission
// and no wait of the host.
#pragma once
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

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

} // namespace longwave::runtime::vulkan
