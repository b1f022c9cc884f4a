// lw_vulkan_measure: numbers that a planner can use, of any device, however busy the machine is.
#include "tests/unit/runtime/vulkan/device.h"
#include <cmath>

namespace measure_test {

using namespace longwave::test;

namespace {

lw_vulkan_costs empty() {
    lw_vulkan_costs costs{};
    costs.struct_size = sizeof costs;
    return costs;
}

void check_plausible(const lw_vulkan_costs &costs) {
    CHECK(std::isfinite(costs.bytes_per_ns));
    CHECK(costs.bytes_per_ns > 0);
    CHECK(std::isfinite(costs.ns_per_dispatch));
    CHECK(costs.ns_per_dispatch > 0);
    CHECK(costs.busy_workgroups >= 1);
    CHECK(costs.busy_workgroups <= 4096);
    CHECK((costs.busy_workgroups & (costs.busy_workgroups - 1)) == 0);
}

// A device that copies the smallest buffer, which takes a moment; with a clock or without.
struct Quick {
    explicit Quick(bool clock) {
        VulkanShim::reset();
        VulkanShim::properties = [](VkPhysicalDeviceProperties *p) {
            p->limits.maxStorageBufferRange = 4 << 20;
        };
        if (!clock)
            VulkanShim::properties = [](VkPhysicalDeviceProperties *p) {
                p->limits.maxStorageBufferRange = 4 << 20;
                p->limits.timestampPeriod = 0;
            };
    }
    ~Quick() {
        VulkanShim::properties = nullptr;
        VulkanShim::reset();
    }
};

} // namespace

TEST_CASE("vulkan measure: rates and times of the device are finite and above 0") {
    if (!has_device()) return;
    const Device device;
    lw_vulkan_costs costs = empty();
    REQUIRE(lw_vulkan_measure(device, &costs) == LW_OK);
    check_plausible(costs);
}

TEST_CASE("vulkan measure: a queue without timestamps is timed by the clock of the host") {
    if (!has_device()) return;
    const Quick quick(false);
    const Device device;
    lw_vulkan_costs costs = empty();
    REQUIRE(lw_vulkan_measure(device, &costs) == LW_OK);
    CHECK(costs.device_clock == 0);
    check_plausible(costs);
}

TEST_CASE("vulkan measure: writes what struct_size covers, and refuses what it cannot use") {
    if (!has_device()) return;
    const Quick quick(true);
    const Device device;
    lw_vulkan_costs costs = empty();
    costs.struct_size = offsetof(lw_vulkan_costs, ns_per_dispatch);
    costs.ns_per_dispatch = -1;
    REQUIRE(lw_vulkan_measure(device, &costs) == LW_OK);
    CHECK(costs.bytes_per_ns > 0);
    CHECK(costs.ns_per_dispatch == -1);
    CHECK(lw_vulkan_measure(device, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_vulkan_measure(nullptr, &costs) == LW_INVALID_ARGUMENT);
    costs.struct_size = 0;
    CHECK(lw_vulkan_measure(device, &costs) == LW_INVALID_ARGUMENT);
    CHECK(std::string(lw_last_error()).find("struct_size") != std::string::npos);
}

TEST_CASE("vulkan measure: with less memory it copies less") {
    if (!has_device()) return;
    VulkanShim::reset();
    const Device device;
    const int64_t before = VulkanShim::alive();
    lw_vulkan_costs costs = empty();
    VulkanShim::fail(2); // after vkCreateBuffer
    CHECK(lw_vulkan_measure(device, &costs) == LW_OK);
    CHECK(VulkanShim::failed_name() == "vkAllocateMemory");
    CHECK(VulkanShim::alive() == before);
    check_plausible(costs);
    VulkanShim::reset();
}

TEST_CASE("vulkan measure: whichever call fails, there is a named status, and nothing is kept or written") {
    if (!has_device()) return;
    for (const char *name : {"vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory",
                             "vkCreateCommandPool", "vkAllocateCommandBuffers", "vkCreateFence",
                             "vkCreateDescriptorSetLayout", "vkCreatePipelineLayout", "vkCreateShaderModule",
                             "vkCreateComputePipelines", "vkCreateDescriptorPool", "vkAllocateDescriptorSets",
                             "vkCreateQueryPool", "vkBeginCommandBuffer", "vkEndCommandBuffer",
                             "vkResetFences", "vkQueueSubmit", "vkWaitForFences", "vkGetQueryPoolResults"}) {
        CAPTURE(std::string(name));
        for (const VkResult result : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST}) {
            // A wait that never ends leaves the device as it is (fault_test.cc).
            if (result != VK_ERROR_DEVICE_LOST && std::string(name) == "vkWaitForFences") continue;
            const Quick quick(true);
            const Device device;
            const int64_t before = VulkanShim::alive();
            lw_vulkan_costs costs = empty();
            VulkanShim::fail_named(name, result);
            const lw_status status = lw_vulkan_measure(device, &costs);
            const bool failed = VulkanShim::failed();
            VulkanShim::reset();
            if (!failed) continue; // a device without timestamps asks for no query pool
            CHECK(status == (result == VK_ERROR_DEVICE_LOST ? LW_DEVICE_LOST : LW_NO_MEMORY));
            CHECK(lw_last_error()[0] != 0);
            CHECK(costs.bytes_per_ns == 0);
            CHECK(VulkanShim::alive() == before);
        }
    }
}

} // namespace measure_test
