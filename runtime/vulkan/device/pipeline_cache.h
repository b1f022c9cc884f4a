// What the driver keeps of compiled pipelines, from one opening of an artifact to the next.
#pragma once
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

// Nothing that goes wrong here fails an opening: the pipelines are compiled once more.
class PipelineCache {
public:
    // Empty, or with what was kept of this device, driver and artifact (its root hash). The driver
    // sees no other bytes: it need not check them (Vulkan 1.3, 10.7.1).
    PipelineCache(const Gpu &gpu, const uint8_t *artifact);
    ~PipelineCache();
    PipelineCache(const PipelineCache &) = delete;

    VkPipelineCache handle() const { return handle_; } // may be null
    void keep();                                       // when there is something new

private:
    const Gpu &gpu_;
    const uint8_t *artifact_;
    VkPipelineCache handle_ = VK_NULL_HANDLE;
    uint64_t found_ = 0; // bytes
};

} // namespace longwave::runtime::vulkan
