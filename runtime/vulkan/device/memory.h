// Buffers, and the way of bytes to them.
#pragma once
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

// A buffer with memory of its own. Given back by hand; a second time does nothing.
struct DeviceBuffer {
    // device: mapped too where host and device share all memory, as in an integrated GPU. host: mapped
    // and coherent at `data`, in memory that the CPU reads fast. both: the same in memory of the
    // device, where it has such memory left, for what the CPU only writes.
    enum class Where { device, host, both };
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint8_t *data = nullptr; // null: not mapped
    uint64_t bytes = 0;

    // Nothing for 0 bytes. What a failure leaves, destroy gives back. `what`: for messages, as in
    // "weights".
    lw_status create(const Gpu &gpu, uint64_t size, Where where, const char *what);
    void destroy(const Gpu &gpu);
};

// Begins what is recorded anew; `once`: for one submission alone.
lw_status begin(const Gpu &gpu, VkCommandBuffer commands, bool once);
lw_status end(const Gpu &gpu, VkCommandBuffer commands);

// A command buffer of its own pool, and a fence: for one thread.
struct Commands {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    bool in_flight = false; // the device may still work on it

    lw_status create(const Gpu &gpu);
    // Further command buffers beside its own, which go with it.
    lw_status allocate(const Gpu &gpu, uint32_t n, VkCommandBuffer *more) const;
    lw_status begin(const Gpu &gpu, bool once) { return vulkan::begin(gpu, buffer, once); }
    lw_status end(const Gpu &gpu) { return vulkan::end(gpu, buffer); }
    lw_status submit(const Gpu &gpu) { return submit(gpu, buffer); }
    // Submits one of them and waits.
    lw_status submit(const Gpu &gpu, VkCommandBuffer recorded);
    // The two halves of it.
    lw_status hand_over(const Gpu &gpu, VkCommandBuffer recorded);
    lw_status wait(const Gpu &gpu);
    // After a time-out waits once more; else nothing. False: the device has been leaked (gpu.h).
    bool idle(const Gpu &gpu);
    void destroy(const Gpu &gpu);
};

// Everything before it in a command buffer is done and seen by what follows.
void barrier(const Gpu &gpu, VkCommandBuffer commands,
             VkAccessFlags seen_by = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);

// The most memory that upload needs while it runs. To a mapped buffer it needs none.
uint64_t upload_staging_bytes(uint64_t bytes);
// `bytes` of this process to the beginning of `to`, in chunks of at most 16 MiB.
lw_status upload(const Gpu &gpu, const uint8_t *from, uint64_t bytes, const DeviceBuffer &to);

} // namespace longwave::runtime::vulkan
