#include "runtime/vulkan/device/timestamps.h"
#include "runtime/vulkan/device/failure.h"

namespace longwave::runtime::vulkan {
namespace {

// 0: the queue has no clock.
uint32_t valid_bits(const Gpu &gpu) {
    VkQueueFamilyProperties families[64]; // as many as the queue was chosen from (gpu.cc)
    uint32_t n = sizeof families / sizeof *families;
    gpu.vk.vkGetPhysicalDeviceQueueFamilyProperties(gpu.physical, &n, families);
    return gpu.queue_family < n && gpu.limits.timestampPeriod > 0
               ? families[gpu.queue_family].timestampValidBits
               : 0;
}

} // namespace

bool has_timestamps(const Gpu &gpu) { return valid_bits(gpu) > 0; }

lw_status Timestamps::create(const Gpu &gpu, uint32_t spans) {
    const uint32_t bits = valid_bits(gpu);
    if (bits == 0)
        return fail(LW_UNSUPPORTED, "the queue of %.120s has no timestamps", gpu.properties.deviceName);
    mask_ = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * spans;
    LW_VK(gpu.vk, vkCreateQueryPool, gpu.device, &info, nullptr, &pool_);
    return LW_OK;
}

void Timestamps::destroy(const Gpu &gpu) {
    if (gpu.leaked) return;
    if (pool_) gpu.vk.vkDestroyQueryPool(gpu.device, pool_, nullptr);
    *this = {};
}

void Timestamps::begin(const Gpu &gpu, VkCommandBuffer commands, uint32_t span) const {
    gpu.vk.vkCmdResetQueryPool(commands, pool_, 2 * span, 2);
    gpu.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, 2 * span);
}

void Timestamps::end(const Gpu &gpu, VkCommandBuffer commands, uint32_t span) const {
    gpu.vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, 2 * span + 1);
}

lw_status Timestamps::elapsed(const Gpu &gpu, uint32_t span, double *ns) const {
    uint64_t at[2] = {};
    LW_VK(gpu.vk, vkGetQueryPoolResults, gpu.device, pool_, 2 * span, 2, sizeof at, at, sizeof *at,
          VK_QUERY_RESULT_64_BIT);
    *ns = static_cast<double>((at[1] - at[0]) & mask_) * double{gpu.limits.timestampPeriod};
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
