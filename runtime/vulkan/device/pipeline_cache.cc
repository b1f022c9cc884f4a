#include "runtime/vulkan/device/pipeline_cache.h"
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

// Vulkan's own header: a driver may read on without looking.
bool of_this(const VkPhysicalDeviceProperties &device, const uint8_t *data, uint64_t bytes) {
    VkPipelineCacheHeaderVersionOne header;
    if (bytes < sizeof header) return false;
    memcpy(&header, data, sizeof header);
    return header.headerSize >= sizeof header && header.headerSize <= bytes &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           header.vendorID == device.vendorID && header.deviceID == device.deviceID &&
           memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

VkPipelineCache make_cache(const Gpu &gpu, const uint8_t *data, uint64_t bytes) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = bytes;
    info.pInitialData = data;
    VkPipelineCache made = VK_NULL_HANDLE;
    const VkResult result = gpu.vk.vkCreatePipelineCache(gpu.device, &info, nullptr, &made);
    return result == VK_SUCCESS ? made : VK_NULL_HANDLE;
}

} // namespace

PipelineCache::PipelineCache(const Gpu &gpu, const uint8_t *artifact) : gpu_(gpu), artifact_(artifact) {
    if (!gpu.cache) return;
    Block block;
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
    if (gpu.cache.read(Cache::Kind::pipelines, artifact, gpu.allocator, &block, &data, &bytes)) {
        if (of_this(gpu.properties, data, bytes)) handle_ = make_cache(gpu, data, bytes);
        if (handle_) found_ = bytes;
        block.release(gpu.allocator);
    }
    if (!handle_) handle_ = make_cache(gpu, nullptr, 0);
    if (found_) ++gpu.stats.cached_models;
}

PipelineCache::~PipelineCache() {
    if (handle_ && !gpu_.leaked) gpu_.vk.vkDestroyPipelineCache(gpu_.device, handle_, nullptr);
}

void PipelineCache::keep() {
    size_t bytes = 0;
    const auto get = gpu_.vk.vkGetPipelineCacheData;
    if (!handle_ || get(gpu_.device, handle_, &bytes, nullptr) != VK_SUCCESS) return;
    if (bytes == found_ || bytes > Cache::most_entry_bytes) return;
    Block block;
    if (!block.allocate(gpu_.allocator, bytes)) return;
    if (get(gpu_.device, handle_, &bytes, block.data) == VK_SUCCESS && // what it wrote may be less
        of_this(gpu_.properties, block.data, bytes))
        gpu_.cache.write(Cache::Kind::pipelines, artifact_, block.data, bytes);
    block.release(gpu_.allocator);
}

} // namespace longwave::runtime::vulkan
