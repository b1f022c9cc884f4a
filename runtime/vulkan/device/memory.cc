#include "runtime/vulkan/device/memory.h"
#include "runtime/vulkan/device/gpu.h"
#include <initializer_list>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

constexpr uint64_t chunk_bytes = 16u << 20;

constexpr VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                shared = mapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT |
                                         VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;

// The first type of those allowed with the first of these sets of properties that some type has;
// UINT32_MAX: none.
uint32_t type_of(const Gpu &gpu, uint32_t allowed, std::initializer_list<VkMemoryPropertyFlags> sets) {
    for (const VkMemoryPropertyFlags wanted : sets)
        for (uint32_t t = 0; t < gpu.memory.memoryTypeCount; ++t)
            if ((allowed >> t & 1) && (gpu.memory.memoryTypes[t].propertyFlags & wanted) == wanted) return t;
    return UINT32_MAX;
}

uint32_t type_of(const Gpu &gpu, uint32_t allowed, DeviceBuffer::Where where) {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    switch (where) {
    case DeviceBuffer::Where::device:
        if (!gpu.shares_memory) return type_of(gpu, allowed, {local, 0});
        return type_of(gpu, allowed, {shared, local, 0});
    case DeviceBuffer::Where::host:
        return type_of(gpu, allowed, {mapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, mapped});
    case DeviceBuffer::Where::both: break;
    }
    return type_of(gpu, allowed, {mapped | local, mapped});
}

// Memory for a buffer. Of `both` there may be little, so the memory of the host is next. *host_sees:
// it can be mapped.
lw_status allocate(const Gpu &gpu, const VkMemoryRequirements &needs, DeviceBuffer::Where where,
                   const char *what, VkDeviceMemory *memory, bool *host_sees) {
    using Where = DeviceBuffer::Where;
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = type_of(gpu, needs.memoryTypeBits, where);
    if (allocation.memoryTypeIndex == UINT32_MAX)
        return fail(LW_UNSUPPORTED, "the GPU has no memory of a kind that %s need", what);
    VkResult result = gpu.vk.vkAllocateMemory(gpu.device, &allocation, nullptr, memory);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY && where == Where::both) {
        const uint32_t full = allocation.memoryTypeIndex;
        allocation.memoryTypeIndex = type_of(gpu, needs.memoryTypeBits, Where::host);
        if (allocation.memoryTypeIndex != full)
            result = gpu.vk.vkAllocateMemory(gpu.device, &allocation, nullptr, memory);
    }
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return fail(LW_NO_MEMORY, "the GPU has no memory for %s: %llu bytes", what,
                    static_cast<unsigned long long>(needs.size));
    const VkMemoryPropertyFlags got = gpu.memory.memoryTypes[allocation.memoryTypeIndex].propertyFlags;
    *host_sees = where != Where::device || (gpu.shares_memory && (got & shared) == shared);
    return check(result, "vkAllocateMemory");
}

} // namespace

lw_status DeviceBuffer::create(const Gpu &gpu, uint64_t size, Where where, const char *what) {
    if (size == 0) return LW_OK;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = size;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (where == Where::both) info.usage |= VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    LW_VK(gpu.vk, vkCreateBuffer, gpu.device, &info, nullptr, &buffer);
    bytes = size;
    VkMemoryRequirements needs{};
    gpu.vk.vkGetBufferMemoryRequirements(gpu.device, buffer, &needs);
    bool host_sees = false;
    if (lw_status status = allocate(gpu, needs, where, what, &memory, &host_sees)) return status;
    LW_VK(gpu.vk, vkBindBufferMemory, gpu.device, buffer, memory, 0);
    if (!host_sees) return LW_OK;
    void *address = nullptr;
    LW_VK(gpu.vk, vkMapMemory, gpu.device, memory, 0, VK_WHOLE_SIZE, 0, &address);
    data = static_cast<uint8_t *>(address);
    return LW_OK;
}

void DeviceBuffer::destroy(const Gpu &gpu) {
    if (gpu.leaked) return;
    if (buffer) gpu.vk.vkDestroyBuffer(gpu.device, buffer, nullptr);
    if (memory) gpu.vk.vkFreeMemory(gpu.device, memory, nullptr); // unmaps it
    *this = {};
}

lw_status Commands::create(const Gpu &gpu) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    info.queueFamilyIndex = gpu.queue_family;
    LW_VK(gpu.vk, vkCreateCommandPool, gpu.device, &info, nullptr, &pool);
    if (lw_status status = allocate(gpu, 1, &buffer)) return status;
    VkFenceCreateInfo fences{};
    fences.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    LW_VK(gpu.vk, vkCreateFence, gpu.device, &fences, nullptr, &fence);
    return LW_OK;
}

lw_status Commands::allocate(const Gpu &gpu, uint32_t n, VkCommandBuffer *more) const {
    if (n == 0) return LW_OK;
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = n;
    LW_VK(gpu.vk, vkAllocateCommandBuffers, gpu.device, &info, more);
    return LW_OK;
}

lw_status begin(const Gpu &gpu, VkCommandBuffer commands, bool once) {
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : 0;
    LW_VK(gpu.vk, vkBeginCommandBuffer, commands, &info);
    return LW_OK;
}

lw_status end(const Gpu &gpu, VkCommandBuffer commands) {
    LW_VK(gpu.vk, vkEndCommandBuffer, commands);
    return LW_OK;
}

lw_status Commands::submit(const Gpu &gpu, VkCommandBuffer recorded) {
    if (lw_status status = hand_over(gpu, recorded)) return status;
    return wait(gpu);
}

lw_status Commands::hand_over(const Gpu &gpu, VkCommandBuffer recorded) {
    (void)idle(gpu); // after a time-out: work that goes on makes the device unusable
    if (lw_status status = gpu.usable()) return status;
    const lw_status status = gpu.hand_over(recorded, fence);
    in_flight = status == LW_OK;
    return status;
}

lw_status Commands::wait(const Gpu &gpu) {
    if (!in_flight) return LW_OK;
    const lw_status status = gpu.wait(fence);
    in_flight = status != LW_OK && status != LW_DEVICE_LOST; // a lost device holds nothing
    return status;
}

bool Commands::idle(const Gpu &gpu) {
    (void)wait(gpu);
    if (in_flight) gpu.leaked = true;
    return !in_flight;
}

void Commands::destroy(const Gpu &gpu) {
    if (!idle(gpu)) return;
    if (fence) gpu.vk.vkDestroyFence(gpu.device, fence, nullptr);
    if (pool) gpu.vk.vkDestroyCommandPool(gpu.device, pool, nullptr); // and its buffer
    *this = {};
}

void barrier(const Gpu &gpu, VkCommandBuffer commands, VkAccessFlags seen_by) {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    memory.dstAccessMask = seen_by;
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkPipelineStageFlags after = work;
    if (seen_by == VK_ACCESS_HOST_READ_BIT) after = VK_PIPELINE_STAGE_HOST_BIT;
    gpu.vk.vkCmdPipelineBarrier(commands, work, after, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

namespace {

lw_status upload_chunks(const Gpu &gpu, const uint8_t *from, uint64_t bytes, const DeviceBuffer &to,
                        const DeviceBuffer &staging, Commands &commands) {
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t chunk = bytes - done < staging.bytes ? bytes - done : staging.bytes;
        memcpy(staging.data, from + done, chunk);
        if (lw_status status = commands.begin(gpu, true)) return status;
        const VkBufferCopy copy{0, done, chunk};
        gpu.vk.vkCmdCopyBuffer(commands.buffer, staging.buffer, to.buffer, 1, &copy);
        barrier(gpu, commands.buffer);
        if (lw_status status = commands.end(gpu)) return status;
        if (lw_status status = commands.submit(gpu)) return status;
        done += chunk;
    }
    return LW_OK;
}

} // namespace

uint64_t upload_staging_bytes(uint64_t bytes) { return bytes < chunk_bytes ? bytes : chunk_bytes; }

lw_status upload(const Gpu &gpu, const uint8_t *from, uint64_t bytes, const DeviceBuffer &to) {
    if (bytes == 0) return LW_OK;
    if (to.data) {
        memcpy(to.data, from, bytes);
        gpu.stats.uploaded_bytes += bytes;
        return LW_OK;
    }
    DeviceBuffer staging;
    Commands commands;
    lw_status status =
        staging.create(gpu, upload_staging_bytes(bytes), DeviceBuffer::Where::host, "an upload");
    if (status == LW_OK) status = commands.create(gpu);
    if (status == LW_OK) status = upload_chunks(gpu, from, bytes, to, staging, commands);
    if (status == LW_OK) gpu.stats.uploaded_bytes += bytes;
    commands.destroy(gpu);
    staging.destroy(gpu);
    return status;
}

} // namespace longwave::runtime::vulkan
