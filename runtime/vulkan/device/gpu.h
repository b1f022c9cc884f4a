// One GPU made ready: what lw_vulkan_open gives, and every model and session on it uses.
#pragma once
#include "longwave/vulkan.h"
#include "runtime/core/device.h"
#include "runtime/vulkan/cache/cache.h"
#include <atomic>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace longwave::runtime::vulkan {

// What went wrong on a device: a status of the interface, and one line for lw_last_error.

// Keeps the formatted line and returns `status`.
__attribute__((format(printf, 2, 3))) lw_status fail(lw_status status, const char *format, ...);

// LW_OK for VK_SUCCESS; else the status that says it best and a line that names the call.
lw_status check(VkResult result, const char *call);

// Vulkan without linking to it: a table of its entry points, filled in from libvulkan or from what
// the caller gives, which may be a table of its own (faults are injected there).

struct EntryPoints {
#define LW_VK_GLOBAL(name) PFN_##name name = nullptr;
#define LW_VK_INSTANCE(name) PFN_##name name = nullptr;
#define LW_VK_DEVICE(name) PFN_##name name = nullptr;
#include "runtime/vulkan/device/entry_points.inc"

    // Opens libvulkan unless `given`; LW_NO_DEVICE when it is not there or has no entry points.
    lw_status load(PFN_vkGetInstanceProcAddr given);
    lw_status load_instance(VkInstance instance);
    lw_status load_device(VkDevice device);
    void unload();

private:
    PFN_vkGetInstanceProcAddr find_ = nullptr;
    void *library_ = nullptr;
};

// What a device must have whatever the model: kernels' buffers begin at multiples of 64.
inline constexpr uint32_t place_alignment = 64;

// Counters for lw_vulkan_get_stats. Any thread adds to them.
struct Stats {
    std::atomic<uint64_t> runs{0}, dispatches{0}, fills{0}, recordings{0}, uploaded_bytes{0},
        cached_models{0}, remembered_proofs{0}, fallen_back{0}, submissions{0}, moved_bytes{0};
    std::atomic<uint64_t> places_examined{0}; // of streams in pools, for tests: creating n examines n
};

class Gpu : public lw_device {
public:
    // Loads Vulkan and creates an instance.
    lw_status start(const lw_vulkan_options &options);
    // Chooses among its devices and makes the one ready.
    lw_status choose(const char *wanted);
    lw_status make_device();
    void stop();

    // Devices of the instance, at most `capacity` of them; *n: how many there are.
    lw_status list(VkPhysicalDevice *devices, uint32_t capacity, uint32_t *n) const;
    lw_vulkan_info describe(VkPhysicalDevice device) const;

    // Hands the command buffer over. A queue takes one hand-over at a time. The fence is used for
    // nothing else.
    lw_status hand_over(VkCommandBuffer commands, VkFence fence) const;
    // At most as long as the options say. Threads wait side by side.
    lw_status wait(VkFence fence) const;

    EntryPoints vk;
    VkDevice device = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    uint32_t queue_family = 0;
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceLimits limits{};     // of those
    VkPhysicalDeviceFeatures features{}; // that are switched on
    bool storage_16 = false;             // storageBuffer16BitAccess, likewise
    bool rounds_float16 = false;         // to nearest, where it stores them (self_test)
    VkPhysicalDeviceMemoryProperties memory{};
    bool shares_memory = false; // with the host, all of it
    lw_allocator allocator{};
    bool fall_back = false; // the CPU computes runs that fail
    // Whether opening a model times the variants of its kernels: never, also no remembered ones;
    // where nothing is remembered; or anew.
    enum class Timing { none, recalled, once, always };
    Timing timing = Timing::recalled;
    bool shares_dispatches = false; // among steps of a stream, where the file has chains of them
    Cache cache;
    const char *no_cache = ""; // why the folder that was asked for is not used
    mutable Stats stats;
    // Work timed out twice and may still run. Its memory may be in use, so nothing of the device is
    // freed any more. Every later call returns LW_TIMEOUT.
    mutable std::atomic<bool> leaked{false};
    // The device gave wrong or different results (lw_vulkan_prove), or it is gone. Nothing more is
    // submitted.
    mutable std::atomic<bool> quarantined{false}, device_lost{false};
    mutable std::atomic<int> proving{0}; // self checks in progress: nothing falls back
    lw_status usable() const;

private:
    VkPhysicalDeviceProperties properties_of(VkPhysicalDevice device) const;
    const char *missing(VkPhysicalDevice of, const VkPhysicalDeviceProperties &its, uint32_t *family) const;

    VkInstance instance_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    uint64_t timeout_ns_ = 0;
    mutable std::atomic<bool> handing_over_{false};
};

inline const Gpu &gpu_of(const lw_device *device) { return *static_cast<const Gpu *>(device); }

// What is asked of a device before a model runs on it: arithmetic that every kernel counts on. A
// device that fails is refused by name. Golden vectors check a model afterwards (lw_vulkan_prove).

// LW_DEVICE_WRONG names the device and what it computed wrongly: sums of 10^5 terms that keep what
// they round off, numbers near zero, infinity, NaN. Where float16 stores are rounded otherwise than
// to nearest, `gpu` loses them, and only models that need them are refused. A process
// tests each device once.
lw_status self_test(Gpu &gpu);

} // namespace longwave::runtime::vulkan

// Returns from the function at hand when the call fails.
#define LW_VK(table, call, ...)                                                                              \
    if (lw_status failed_ = longwave::runtime::vulkan::check((table).call(__VA_ARGS__), #call)) return failed_
