#include "runtime/vulkan/device/gpu.h"
#include "runtime/platform/library.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

constexpr uint32_t most_devices = 64, most_families = 64;

lw_vulkan_kind kind_of(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return LW_VULKAN_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return LW_VULKAN_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return LW_VULKAN_VIRTUAL;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return LW_VULKAN_SOFTWARE;
    default: return LW_VULKAN_OTHER;
    }
}

int score(const lw_vulkan_info &info) {
    static constexpr int of_kind[] = {1, 4, 5, 3, 2}; // by lw_vulkan_kind
    return info.usable ? of_kind[info.kind] : 0;
}

// A number of lw_vulkan_devices; −1: a name.
long number(const char *text) {
    char *end = nullptr;
    const long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    return end && *end == 0 ? value : -1;
}

} // namespace

lw_status Gpu::start(const lw_vulkan_options &options) {
    timeout_ns_ = uint64_t{options.timeout_ms ? options.timeout_ms : 60'000} * 1'000'000;
    const auto given = reinterpret_cast<PFN_vkGetInstanceProcAddr>(options.get_instance_proc_addr);
    if (lw_status status = vk.load(given)) return status;
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = application.pEngineName = "longwave";
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    LW_VK(vk, vkCreateInstance, &info, nullptr, &instance_);
    // Without this one the instance could not be given back, so it is looked for first.
    return vk.load_instance(instance_);
}

lw_status Gpu::list(VkPhysicalDevice *devices, uint32_t capacity, uint32_t *n) const {
    uint32_t found = 0;
    LW_VK(vk, vkEnumeratePhysicalDevices, instance_, &found, nullptr);
    uint32_t taken = found < capacity ? found : capacity;
    const VkResult result = vk.vkEnumeratePhysicalDevices(instance_, &taken, devices);
    if (result != VK_INCOMPLETE)
        if (lw_status status = check(result, "vkEnumeratePhysicalDevices")) return status;
    *n = taken < capacity ? taken : found;
    return LW_OK;
}

// Why it is of no use, or null. *family: its queues that compute.
const char *Gpu::missing(VkPhysicalDevice of, const VkPhysicalDeviceProperties &its, uint32_t *family) const {
    if (its.apiVersion < VK_API_VERSION_1_1) return "it is older than Vulkan 1.1";
    if (its.limits.minStorageBufferOffsetAlignment > place_alignment)
        return "minStorageBufferOffsetAlignment is above 64";
    VkQueueFamilyProperties families[most_families];
    uint32_t n = most_families;
    vk.vkGetPhysicalDeviceQueueFamilyProperties(of, &n, families);
    for (uint32_t f = 0; f < n; ++f)
        if (families[f].queueCount > 0 && (families[f].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
            *family = f;
            return nullptr;
        }
    return "it has no queue that computes";
}

lw_vulkan_info Gpu::describe(VkPhysicalDevice of) const {
    VkPhysicalDeviceProperties its{};
    VkPhysicalDeviceMemoryProperties heaps{};
    vk.vkGetPhysicalDeviceProperties(of, &its);
    vk.vkGetPhysicalDeviceMemoryProperties(of, &heaps);
    lw_vulkan_info info{};
    info.struct_size = sizeof info;
    strncpy(info.name, its.deviceName, sizeof info.name - 1);
    info.kind = kind_of(its.deviceType);
    info.api_major = VK_API_VERSION_MAJOR(its.apiVersion);
    info.api_minor = VK_API_VERSION_MINOR(its.apiVersion);
    info.api_patch = VK_API_VERSION_PATCH(its.apiVersion);
    info.shared_bytes = its.limits.maxComputeSharedMemorySize;
    info.threads = its.limits.maxComputeWorkGroupInvocations;
    for (uint32_t h = 0; h < heaps.memoryHeapCount; ++h)
        if ((heaps.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) &&
            heaps.memoryHeaps[h].size > info.memory_bytes)
            info.memory_bytes = heaps.memoryHeaps[h].size;
    info.vendor = its.vendorID;
    info.identity = its.deviceID;
    info.driver = its.driverVersion;
    memcpy(info.uuid, its.pipelineCacheUUID, sizeof info.uuid);
    uint32_t family = 0;
    const char *why = missing(of, its, &family);
    info.usable = why == nullptr;
    if (why) strncpy(info.missing, why, sizeof info.missing - 1);
    return info;
}

lw_status Gpu::choose(const char *wanted) {
    VkPhysicalDevice devices[most_devices];
    uint32_t n = 0;
    if (lw_status status = list(devices, most_devices, &n)) return status;
    n = n < most_devices ? n : most_devices;
    if (n == 0)
        return fail(LW_NO_DEVICE,
                    "Vulkan finds no device: is a driver installed (Debian: mesa-vulkan-drivers), "
                    "and may this user open the GPU?");
    const long index = wanted ? number(wanted) : -1;
    const char *why = "";
    char refused[256] = "";
    int best = 0;
    for (uint32_t d = 0; d < n; ++d) {
        const lw_vulkan_info info = describe(devices[d]);
        if (wanted && (index >= 0 ? index != d : !strstr(info.name, wanted))) continue;
        if (!info.usable) {
            strncpy(refused, info.name, sizeof refused - 1);
            why = missing(devices[d], properties_of(devices[d]), &queue_family);
        }
        if (score(info) <= best) continue;
        best = score(info);
        physical = devices[d];
    }
    if (physical) return LW_OK;
    if (refused[0]) return fail(LW_UNSUPPORTED, "%.150s cannot be used: %s", refused, why);
    return fail(LW_NO_DEVICE,
                "there is no Vulkan device \"%.60s\" among %u: see lw_vulkan_devices or `longwave "
                "devices`",
                wanted, n);
}

VkPhysicalDeviceProperties Gpu::properties_of(VkPhysicalDevice of) const {
    VkPhysicalDeviceProperties its{};
    vk.vkGetPhysicalDeviceProperties(of, &its);
    return its;
}

lw_status Gpu::make_device() {
    properties = properties_of(physical);
    limits = properties.limits;
    vk.vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    shares_memory = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
                    properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    (void)missing(physical, properties, &queue_family); // it was asked before: for the family
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    VkPhysicalDeviceFeatures has{};
    vk.vkGetPhysicalDeviceFeatures(physical, &has);
    features.shaderFloat64 = has.shaderFloat64;
    info.pEnabledFeatures = &features;
    VkPhysicalDevice16BitStorageFeatures has_16{}, wanted{};
    has_16.sType = wanted.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    VkPhysicalDeviceFeatures2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    all.pNext = &has_16;
    vk.vkGetPhysicalDeviceFeatures2(physical, &all);
    wanted.storageBuffer16BitAccess = has_16.storageBuffer16BitAccess;
    storage_16 = has_16.storageBuffer16BitAccess == VK_TRUE;
    if (storage_16) info.pNext = &wanted;
    LW_VK(vk, vkCreateDevice, physical, &info, nullptr, &device);
    if (lw_status status = vk.load_device(device)) return status;
    vk.vkGetDeviceQueue(device, queue_family, 0, &queue_);
    return LW_OK;
}

lw_status Gpu::usable() const {
    if (leaked) return fail(LW_TIMEOUT, "the GPU still works on what it did not finish in time");
    if (device_lost) return fail(LW_DEVICE_LOST, "the GPU was lost");
    if (quarantined)
        return fail(LW_DEVICE_WRONG, "%.120s is disabled until it is reopened: its golden vectors were wrong",
                    properties.deviceName);
    return LW_OK;
}

void Gpu::stop() {
    cache.close();
    if (leaked) return;
    if (device && vk.vkDestroyDevice) vk.vkDestroyDevice(device, nullptr);
    if (instance_ && vk.vkDestroyInstance) vk.vkDestroyInstance(instance_, nullptr);
    vk.unload();
}

lw_status Gpu::hand_over(VkCommandBuffer commands, VkFence fence) const {
    LW_VK(vk, vkResetFences, device, 1, &fence);
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    while (handing_over_.exchange(true, std::memory_order_acquire)) {
    } // microseconds: no thread waits in there
    const VkResult result = vk.vkQueueSubmit(queue_, 1, &info, fence);
    handing_over_.store(false, std::memory_order_release);
    device_lost = device_lost || result == VK_ERROR_DEVICE_LOST;
    return check(result, "vkQueueSubmit");
}

lw_status Gpu::wait(VkFence fence) const {
    const VkResult result = vk.vkWaitForFences(device, 1, &fence, VK_TRUE, timeout_ns_);
    device_lost = device_lost || result == VK_ERROR_DEVICE_LOST;
    return check(result, "vkWaitForFences");
}

static lw_status missing(const char *name) {
    return fail(LW_NO_DEVICE, "the Vulkan driver has no %s: it is older than Vulkan 1.1, or damaged", name);
}

lw_status EntryPoints::load(PFN_vkGetInstanceProcAddr given) {
    find_ = given;
    if (!find_) {
        library_ = platform::open_library(platform::vulkan_library);
        if (!library_)
            return fail(LW_NO_DEVICE,
                        "there is no %s: install the Vulkan loader (Debian: libvulkan1) and a driver",
                        platform::vulkan_library);
        find_ = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
            platform::find_function(library_, "vkGetInstanceProcAddr"));
        if (!find_) return missing("vkGetInstanceProcAddr");
    }
#define LW_VK_GLOBAL(name)                                                                                   \
    name = reinterpret_cast<PFN_##name>(find_(nullptr, #name));                                              \
    if (!(name)) return missing(#name);
#include "runtime/vulkan/device/entry_points.inc"
    return LW_OK;
}

lw_status EntryPoints::load_instance(VkInstance instance) {
#define LW_VK_INSTANCE(name)                                                                                 \
    name = reinterpret_cast<PFN_##name>(find_(instance, #name));                                             \
    if (!(name)) return missing(#name);
#include "runtime/vulkan/device/entry_points.inc"
    return LW_OK;
}

lw_status EntryPoints::load_device(VkDevice device) {
#define LW_VK_DEVICE(name)                                                                                   \
    name = reinterpret_cast<PFN_##name>(vkGetDeviceProcAddr(device, #name));                                 \
    if (!(name)) return missing(#name);
#include "runtime/vulkan/device/entry_points.inc"
    return LW_OK;
}

void EntryPoints::unload() {
    if (library_) platform::close_library(library_);
    library_ = nullptr;
}

lw_status fail(lw_status status, const char *format, ...) {
    char line[256];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    lw_set_last_error(line);
    return status;
}

lw_status check(VkResult result, const char *call) {
    switch (result) {
    case VK_SUCCESS: return LW_OK;
    case VK_TIMEOUT: return fail(LW_TIMEOUT, "the GPU did not finish in time (%s)", call);
    case VK_ERROR_DEVICE_LOST: return fail(LW_DEVICE_LOST, "the GPU was lost (%s)", call);
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return fail(LW_NO_MEMORY, "the Vulkan driver has no memory of the process (%s)", call);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS: return fail(LW_NO_MEMORY, "the GPU has no memory left (%s)", call);
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return fail(LW_NO_DEVICE, "there is no Vulkan driver (%s): install one (Debian: mesa-vulkan-drivers)",
                    call);
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return fail(LW_UNSUPPORTED, "the GPU or its driver lacks a feature (%s: %d)", call, result);
    default: return fail(LW_DEVICE, "the Vulkan driver failed (%s: %d)", call, result);
    }
}

} // namespace longwave::runtime::vulkan
