#include "tests/support/vulkan_shim.h"
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <type_traits>

namespace longwave::test {
namespace {

std::atomic<uint64_t> count{0}, nth{0};
std::atomic<int64_t> made{0};
std::string name_failing, name_failed;
VkResult result_failing = VK_ERROR_OUT_OF_DEVICE_MEMORY;

// Memory that the host sees, for results that are wrong.
struct Mapping {
    VkDeviceSize bytes = 0;
    uint32_t *words = nullptr;
};
std::mutex of_mappings;
std::map<VkDeviceMemory, Mapping> mappings;
std::atomic<uint64_t> waits{0}, corrupt_nth{0}, cache_given{0};

void corrupt_all() {
    const std::lock_guard lock(of_mappings);
    for (auto &[memory, mapping] : mappings)
        for (VkDeviceSize i = 0; mapping.words && i < mapping.bytes / 4; ++i) mapping.words[i] ^= 0x400000;
}

void plant_all() {
    const std::lock_guard lock(of_mappings);
    for (auto &[memory, mapping] : mappings)
        if (mapping.words) VulkanShim::plant(mapping.words, mapping.bytes / 4);
}

template <class Function, class... Args> void after(Args... args) {
    const std::lock_guard lock(of_mappings);
    if constexpr (std::is_same_v<Function, PFN_vkAllocateMemory>)
        [](VkDevice, const VkMemoryAllocateInfo *info, auto, VkDeviceMemory *memory) {
            mappings[*memory].bytes = info->allocationSize;
            if (VulkanShim::memory) VulkanShim::memory(static_cast<int64_t>(info->allocationSize));
        }(args...);
    if constexpr (std::is_same_v<Function, PFN_vkMapMemory>)
        [](VkDevice, VkDeviceMemory memory, auto, auto, auto, void **data) {
            mappings[memory].words = static_cast<uint32_t *>(*data);
        }(args...);
    if constexpr (std::is_same_v<Function, PFN_vkFreeMemory>)
        [](VkDevice, VkDeviceMemory memory, auto) {
            if (VulkanShim::memory) VulkanShim::memory(-static_cast<int64_t>(mappings[memory].bytes));
            mappings.erase(memory);
        }(args...);
    if constexpr (std::is_same_v<Function, PFN_vkCreatePipelineCache>)
        [](VkDevice, const VkPipelineCacheCreateInfo *info, auto, auto) {
            cache_given += info->initialDataSize;
        }(args...);
}

PFN_vkGetInstanceProcAddr real_lookup() {
    static void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"))
                   : nullptr;
}

// Whether this call, which could fail, does. `lookup`: of an entry point, which is not the call
// itself.
bool fails(const char *name, bool lookup = false) {
    const bool hit = ++count == nth || (!lookup && name_failing == name);
    if (hit) name_failed = name;
    return hit;
}

// As the runtime sees the kinds of memory.
constexpr uint32_t of_window = 2;
std::atomic<uint64_t> window_allocations{0};

void show_kinds(VkPhysicalDeviceMemoryProperties *memory) {
    const VkMemoryPropertyFlags mapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    memory->memoryTypeCount = VulkanShim::kinds == VulkanShim::Memory::apart ? 2 : 3;
    memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    memory->memoryTypes[1] = {mapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0};
    memory->memoryTypes[of_window] = {mapped | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
}

// False: that part is full.
bool take_from_window(VkMemoryAllocateInfo *info) {
    const bool wanted = info->memoryTypeIndex == of_window;
    info->memoryTypeIndex = 0;
    if (wanted) ++window_allocations;
    return !wanted || VulkanShim::kinds != VulkanShim::Memory::full;
}

bool begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

// +1 for what makes an object, −1 for what gives one back. Sets and command buffers go with their
// pools.
int64_t change(const char *name) {
    if (begins(name, "vkCreate") || strcmp(name, "vkAllocateMemory") == 0) return 1;
    return begins(name, "vkDestroy") || strcmp(name, "vkFreeMemory") == 0 ? -1 : 0;
}

void take_storage_16(VkPhysicalDeviceFeatures2 *all) {
    for (auto *at = static_cast<VkBaseOutStructure *>(all->pNext); at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
            reinterpret_cast<VkPhysicalDevice16BitStorageFeatures *>(at)->storageBuffer16BitAccess = VK_FALSE;
}

// One wrapper for each entry point: `Which` tells them apart.
template <int Which, class Function> struct Wrapper;
template <int Which, class Result, class... Args> struct Wrapper<Which, Result(VKAPI_PTR *)(Args...)> {
    static inline Result(VKAPI_PTR *real)(Args...) = nullptr;
    static inline const char *name = "";

    static VkResult in_window_or_host(VkDevice device, const VkMemoryAllocateInfo *asked,
                                      const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory) {
        VkMemoryAllocateInfo info = *asked;
        if (!take_from_window(&info)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        const VkResult result = real(device, &info, callbacks, memory);
        if (result == VK_SUCCESS) made += 1, after<PFN_vkAllocateMemory>(device, &info, callbacks, memory);
        return result;
    }

    static VKAPI_ATTR Result VKAPI_CALL call(Args... args) {
        if constexpr (std::is_same_v<Result, VkResult>) {
            // What waits has to wait all the same: the work goes on, whatever is said of it.
            const bool wait = strcmp(name, "vkWaitForFences") == 0;
            if (fails(name)) {
                if (wait) real(args...);
                return result_failing;
            }
            if constexpr (std::is_same_v<Result(VKAPI_PTR *)(Args...), PFN_vkAllocateMemory>)
                if (VulkanShim::kinds != VulkanShim::Memory::shared) return in_window_or_host(args...);
            const VkResult result = real(args...);
            if (result >= 0) made += change(name);
            if (result == VK_SUCCESS) after<Result(VKAPI_PTR *)(Args...)>(args...);
            if (wait && corrupt_nth && ++waits % corrupt_nth == 0) corrupt_all();
            if (wait && VulkanShim::plant) plant_all();
            return result;
        } else if constexpr (std::is_void_v<Result>) {
            if (VulkanShim::no_barriers && strcmp(name, "vkCmdPipelineBarrier") == 0) return;
            made += change(name);
            after<Result(VKAPI_PTR *)(Args...)>(args...);
            real(args...);
            if constexpr (std::is_same_v<Result(VKAPI_PTR *)(Args...), PFN_vkGetPhysicalDeviceProperties>)
                if (VulkanShim::properties) [](auto, auto *all) { VulkanShim::properties(all); }(args...);
            if constexpr (std::is_same_v<Result(VKAPI_PTR *)(Args...), PFN_vkGetPhysicalDeviceFeatures>)
                if (VulkanShim::features) [](auto, auto *all) { VulkanShim::features(all); }(args...);
            if constexpr (std::is_same_v<Result(VKAPI_PTR *)(Args...), PFN_vkGetPhysicalDeviceFeatures2>)
                if (VulkanShim::no_storage_16) [](auto, auto *all) { take_storage_16(all); }(args...);
            if constexpr (std::is_same_v<Result(VKAPI_PTR *)(Args...),
                                         PFN_vkGetPhysicalDeviceMemoryProperties>)
                if (VulkanShim::kinds != VulkanShim::Memory::shared)
                    [](auto, auto *all) { show_kinds(all); }(args...);
            if constexpr (std::is_same_v<Result(VKAPI_PTR *)(Args...), PFN_vkGetBufferMemoryRequirements>)
                if (VulkanShim::kinds != VulkanShim::Memory::shared)
                    [](auto, auto, auto *needs) { needs->memoryTypeBits = 7; }(args...);
        } else {
            return real(args...);
        }
    }
};

template <int Which, class Function> PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction real) {
    using Wrap = Wrapper<Which, Function>;
    Wrap::real = reinterpret_cast<Function>(real);
    Wrap::name = name;
    return reinterpret_cast<PFN_vkVoidFunction>(&Wrap::call);
}

PFN_vkGetDeviceProcAddr real_device_lookup = nullptr;
PFN_vkVoidFunction VKAPI_CALL device_lookup(VkDevice device, const char *name);

// The wrapper of an entry point by its name.
PFN_vkVoidFunction wrapped(const char *name, PFN_vkVoidFunction real) {
    if (!real || fails(name, true)) return nullptr;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device_lookup = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
        return reinterpret_cast<PFN_vkVoidFunction>(&device_lookup);
    }
    enum Which : int {
#define LW_VK_GLOBAL(f) which_##f,
#define LW_VK_INSTANCE(f) which_##f,
#define LW_VK_DEVICE(f) which_##f,
#include "runtime/vulkan/device/entry_points.inc"
    };
#define LW_VK_GLOBAL(f)                                                                                      \
    if (strcmp(name, #f) == 0) return wrap<which_##f, PFN_##f>(#f, real);
#define LW_VK_INSTANCE(f) LW_VK_GLOBAL(f)
#define LW_VK_DEVICE(f)                                                                                      \
    if (strcmp(name, #f) == 0) return wrap<which_##f, PFN_##f>(#f, real);
#include "runtime/vulkan/device/entry_points.inc"
    return real;
}

PFN_vkVoidFunction VKAPI_CALL device_lookup(VkDevice device, const char *name) {
    return wrapped(name, real_device_lookup(device, name));
}

} // namespace

void (*VulkanShim::properties)(VkPhysicalDeviceProperties *) = nullptr;
void (*VulkanShim::features)(VkPhysicalDeviceFeatures *) = nullptr;
void (*VulkanShim::memory)(int64_t) = nullptr;
bool VulkanShim::no_storage_16 = false;
bool VulkanShim::no_barriers = false;
VulkanShim::Memory VulkanShim::kinds = Memory::apart;
uint64_t VulkanShim::in_window() { return window_allocations; }

bool VulkanShim::present() { return real_lookup() != nullptr; }

void VulkanShim::fail(uint64_t call, VkResult result) {
    reset();
    nth = call;
    result_failing = result;
}

void VulkanShim::fail_named(const std::string &name, VkResult result) {
    reset();
    name_failing = name;
    result_failing = result;
}

void VulkanShim::reset() {
    count = nth = waits = corrupt_nth = cache_given = window_allocations = 0;
    name_failing.clear();
    name_failed.clear();
}

uint64_t VulkanShim::calls() { return count; }
bool VulkanShim::failed() { return !name_failed.empty(); }
std::string VulkanShim::failed_name() { return name_failed; }
int64_t VulkanShim::alive() { return made; }
uint64_t VulkanShim::cache_bytes() { return cache_given; }

void VulkanShim::corrupt(uint64_t n) {
    waits = 0;
    corrupt_nth = n;
}

void (*VulkanShim::plant)(uint32_t *, uint64_t) = nullptr;

void (*VulkanShim::get_instance_proc_addr(void *instance, const char *name))(void) {
    return wrapped(name, real_lookup()(static_cast<VkInstance>(instance), name));
}

} // namespace longwave::test
