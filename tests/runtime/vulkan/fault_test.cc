// Every call that can fail, failing: a named status, nothing kept, no wait without end.
#include "tests/runtime/vulkan/device.h"
#include <cstdlib>
#include <set>

using namespace longwave;
using namespace longwave::test;

namespace {

// What is taken from the caller's allocator.
int64_t taken = 0;
const lw_allocator counting = {
    [](void *, size_t size, size_t alignment) {
        ++taken;
        return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    },
    [](void *, void *memory, size_t) {
        --taken;
        free(memory);
    },
    nullptr,
};

// Open a device, open a model, run it twice, close all. The first failure, or LW_OK.
lw_status whole_life(const std::vector<uint8_t> &bytes) {
    lw_vulkan_options options = through_shim();
    options.allocator = &counting;
    lw_device *device = nullptr;
    lw_status status = lw_vulkan_open(&options, &device);
    CHECK((status == LW_OK) == (device != nullptr));
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    if (status == LW_OK) {
        lw_open_options open = on(device);
        open.allocator = &counting;
        status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
        CHECK((status == LW_OK) == (model != nullptr));
    }
    if (status == LW_OK) status = lw_runner_create(model, nullptr, &runner);
    Results results;
    for (size_t rows : {64, 31})
        if (status == LW_OK) status = run_audio(runner, noise(rows), &results);
    lw_runner_destroy(runner);
    lw_model_close(model);
    lw_vulkan_close(device);
    return status;
}

} // namespace

TEST_CASE("vulkan: whichever call fails, there is a named status and nothing is kept") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    VulkanShim::reset();
    REQUIRE(whole_life(bytes) == LW_OK);
    const uint64_t calls = VulkanShim::calls();
    CHECK(calls > 90);
    CHECK(VulkanShim::alive() == 0);
    std::set<std::string> failed;
    for (const VkResult result : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN})
        for (uint64_t k = 1; k <= calls; ++k) {
            const int64_t before = VulkanShim::alive();
            VulkanShim::fail(k, result);
            const lw_status status = whole_life(bytes);
            const std::string name = VulkanShim::failed_name();
            CAPTURE(name);
            CAPTURE(k);
            REQUIRE(VulkanShim::failed());
            failed.insert(name);
            CHECK((status == LW_NO_MEMORY || status == LW_DEVICE_LOST || status == LW_DEVICE ||
                   status == LW_NO_DEVICE));
            CHECK(lw_last_error()[0] != 0);
            // An instance whose vkDestroyInstance is not to be found cannot be given back, nor such a device.
            const bool lost_way = name == "vkDestroyInstance" || name == "vkDestroyDevice";
            CHECK(VulkanShim::alive() - before <= (lost_way ? 1 : 0));
            CHECK(taken == 0);
        }
    CHECK(failed.size() > 40);
    VulkanShim::reset();
    CHECK(whole_life(bytes) == LW_OK);
}

TEST_CASE("vulkan: a run that does not end in time is LW_TIMEOUT, and the next one goes on") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    Device device;
    lw_open_options open = on(device);
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK);
    REQUIRE(lw_runner_create(model, nullptr, &runner) == LW_OK);
    Results results;
    VulkanShim::fail_named("vkWaitForFences", VK_TIMEOUT);
    CHECK(run_audio(runner, noise(64), &results) == LW_TIMEOUT);
    CHECK(std::string(lw_last_error()).find("in time") != std::string::npos);
    VulkanShim::reset();
    CHECK(run_audio(runner, noise(64), &results) == LW_OK);
    lw_runner_destroy(runner);
    lw_model_close(model);
}

TEST_CASE("vulkan: each kind of failure has its name") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    struct {
        const char *call;
        VkResult result;
        lw_status status;
    } const cases[] = {
        {"vkCreateInstance", VK_ERROR_INCOMPATIBLE_DRIVER, LW_NO_DEVICE},
        {"vkCreateDevice", VK_ERROR_FEATURE_NOT_PRESENT, LW_UNSUPPORTED},
        {"vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, LW_NO_MEMORY},
        {"vkAllocateMemory", VK_ERROR_OUT_OF_HOST_MEMORY, LW_NO_MEMORY},
        {"vkCreateComputePipelines", VK_ERROR_UNKNOWN, LW_DEVICE},
        {"vkQueueSubmit", VK_ERROR_DEVICE_LOST, LW_DEVICE_LOST},
        {"vkWaitForFences", VK_ERROR_DEVICE_LOST, LW_DEVICE_LOST},
    };
    for (const auto &c : cases) {
        VulkanShim::fail_named(c.call, c.result);
        CAPTURE(std::string(c.call));
        CHECK(whole_life(bytes) == c.status);
        VulkanShim::reset();
    }
}

TEST_CASE("vulkan: a device that lacks a limit is refused by the limit's name") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    struct {
        const char *limit;
        void (*lower)(VkPhysicalDeviceProperties *);
    } const cases[] = {
        {"maxComputeSharedMemorySize",
         [](VkPhysicalDeviceProperties *p) { p->limits.maxComputeSharedMemorySize = 8192; }},
        {"maxComputeWorkGroupInvocations",
         [](VkPhysicalDeviceProperties *p) { p->limits.maxComputeWorkGroupInvocations = 32; }},
        {"maxComputeWorkGroupSize",
         [](VkPhysicalDeviceProperties *p) { p->limits.maxComputeWorkGroupSize[0] = 32; }},
        {"maxComputeWorkGroupCount",
         [](VkPhysicalDeviceProperties *p) { p->limits.maxComputeWorkGroupCount[1] = 0; }},
        {"maxPerStageDescriptorStorageBuffers",
         [](VkPhysicalDeviceProperties *p) { p->limits.maxPerStageDescriptorStorageBuffers = 3; }},
        {"maxStorageBufferRange",
         [](VkPhysicalDeviceProperties *p) { p->limits.maxStorageBufferRange = 128; }},
        {"minStorageBufferOffsetAlignment",
         [](VkPhysicalDeviceProperties *p) { p->limits.minStorageBufferOffsetAlignment = 128; }},
        {"Vulkan 1.1", [](VkPhysicalDeviceProperties *p) { p->apiVersion = VK_API_VERSION_1_0; }},
    };
    for (const auto &c : cases) {
        VulkanShim::properties = c.lower;
        CHECK(whole_life(bytes) == LW_UNSUPPORTED);
        CHECK_MESSAGE(std::string(lw_last_error()).find(c.limit) != std::string::npos,
                      std::string(lw_last_error()));
    }
    VulkanShim::properties = nullptr;
    CHECK(whole_life(bytes) == LW_OK);
}

TEST_CASE("vulkan: without libvulkan there is no device, and the message says what to install") {
    lw_vulkan_options options{};
    options.struct_size = sizeof options;
    options.get_instance_proc_addr = [](void *, const char *) -> void (*)(void) { return nullptr; };
    lw_device *device = nullptr;
    CHECK(lw_vulkan_open(&options, &device) == LW_NO_DEVICE);
    CHECK(device == nullptr);
}
