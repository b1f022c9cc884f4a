// Vulkan with faults: stands between the runtime and the driver, counts what is made and given
// back, and fails calls on demand. One at a time in a program.
#pragma once
#include <cstdint>
#include <longwave/vulkan.h>
#include <string>
#include <vulkan/vulkan.h>

namespace longwave::test {

class VulkanShim {
public:
    // Of libvulkan; false: there is none.
    static bool present();

    // What to do to the calls from now on. The n-th (from 1) that can fail does so with `result`;
    // 0: none. A call that looks an entry point up fails by finding nothing.
    static void fail(uint64_t nth, VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY);
    static void fail_named(const std::string &name, VkResult result); // each call of that name
    static void reset();                                              // neither, and counts from 0

    static uint64_t calls();          // that could have failed, since reset
    static bool failed();             // one did
    static std::string failed_name(); // which
    static int64_t alive();           // objects made and not given back
    // Called with the bytes of each vkAllocateMemory, and minus those given back.
    static void (*memory)(int64_t);

    // Changes what the driver says of a device.
    static void (*properties)(VkPhysicalDeviceProperties *);
    static void (*features)(VkPhysicalDeviceFeatures *);
    static bool no_storage_16; // it has no storageBuffer16BitAccess
    static bool no_barriers;   // leaves out vkCmdPipelineBarrier
    // What a driver with one kind of memory says that it has. shared: just that. apart: the device's
    // and the host's. window: also a part of the device's that the host can write. full: every
    // allocation from that part fails.
    enum class Memory { shared, apart, window, full };
    static Memory kinds;         // apart, unless a test says otherwise
    static uint64_t in_window(); // vkAllocateMemory of that part, since reset

    // After each n-th wait every number that the host can see has another mantissa; 0: none.
    static void corrupt(uint64_t nth);
    // Called after each wait with each mapping that the host can see, in words.
    static void (*plant)(uint32_t *words, uint64_t count);
    static uint64_t cache_bytes(); // that vkCreatePipelineCache was given since reset

    // For lw_vulkan_options.get_instance_proc_addr.
    static void (*get_instance_proc_addr(void *instance, const char *name))(void);
};

} // namespace longwave::test
