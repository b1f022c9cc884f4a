// Every call that can fail, failing: a named status, nothing kept, no wait without end.
#include "formats/artifact/modules.h"
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/life.h"
#include <set>
#include <span>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace fault_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// Each call fails with a lost device, which is remembered, and with one of the others in turn.
constexpr VkResult lost[] = {VK_ERROR_DEVICE_LOST},
                   others[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_UNKNOWN};
constexpr std::span<const VkResult> each_kind[] = {lost, others};

bool of_the_cache(const std::string &call) { return call.find("PipelineCache") != std::string::npos; }

// What must hold whichever call failed.
void check_ending(const Life &life, const std::string &name, int64_t before) {
    if (life.status != LW_OK) {
        CHECK((life.status == LW_NO_MEMORY || life.status == LW_DEVICE_LOST || life.status == LW_DEVICE ||
               life.status == LW_NO_DEVICE));
        CHECK(lw_last_error()[0] != 0);
    }
    // An instance whose vkDestroyInstance is not to be found cannot be given back, nor such a
    // device.
    const bool lost_way = name == "vkDestroyInstance" || name == "vkDestroyDevice";
    CHECK(VulkanShim::alive() - before <= (lost_way ? 1 : 0));
    CHECK(taken == 0);
}

// One life for each of the calls of a good one, in which that call fails with the next of `results`:
// what must hold always, and what check(life, name, k, result) asks, k from 1.
template <class Check> void each_failing(const std::vector<uint8_t> &bytes, const LifeOptions &with,
                                         uint64_t calls, std::span<const VkResult> results,
                                         const Check &check) {
    for (uint64_t k = 1; k <= calls; ++k) {
        const int64_t before = VulkanShim::alive();
        const VkResult result = results[k % results.size()];
        VulkanShim::fail(k, result);
        const Life life = whole_life(bytes, with);
        const std::string name = VulkanShim::failed_name();
        CAPTURE(name);
        CAPTURE(k);
        check_ending(life, name, before);
        check(life, name, k, result);
    }
}

} // namespace

TEST_CASE(
    "vulkan: whichever call fails, on the device or mixed, there is a named status and nothing is kept") {
    if (!has_device()) return;
    std::vector<uint8_t> bytes;
    SUBCASE("on the device") { bytes = gpu_model().bytes(); }
    SUBCASE("mixed") { bytes = mixed_model().bytes(); }
    const int64_t before = VulkanShim::alive(); // what the other case could not give back
    VulkanShim::reset();
    REQUIRE(whole_life(bytes).status == LW_OK);
    const uint64_t calls = VulkanShim::calls();
    CHECK(calls > 90);
    CHECK(VulkanShim::alive() == before);
    std::set<std::string> failed;
    for (const auto results : each_kind)
        each_failing(bytes, {}, calls, results,
                     [&](const Life &life, const std::string &name, uint64_t, VkResult) {
                         REQUIRE(VulkanShim::failed());
                         failed.insert(name);
                         CHECK(life.status != LW_OK);
                     });
    CHECK(failed.size() > 40);
    VulkanShim::reset();
    CHECK(whole_life(bytes).status == LW_OK);
}

TEST_CASE(
    "vulkan: whichever call fails, a cache and a proof bring no other failure, and no wrong entry stays") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = model_with_golden();
    const CacheFolder folder;
    const std::string path = folder.path;
    const LifeOptions with{path.c_str(), false, true};
    for (const bool filled : {false, true}) {
        folder.clear();
        VulkanShim::reset();
        if (filled) REQUIRE(whole_life(bytes, with).status == LW_OK);
        VulkanShim::reset();
        const Life good = whole_life(bytes, with);
        REQUIRE(good.status == LW_OK);
        CHECK(good.stats.cached_models == filled);
        CHECK(good.stats.remembered_proofs == filled);
        const uint64_t calls = VulkanShim::calls();
        CAPTURE(filled);
        for (const auto results : each_kind) {
            if (!filled) folder.clear();
            each_failing(bytes, with, calls, results,
                         [&](const Life &life, const std::string &name, uint64_t k, VkResult) {
                             // What is found where a cache call failed is the work done once more.
                             // One that is not there at all is a driver that lacks it.
                             if (of_the_cache(name) && life.status != LW_NO_DEVICE)
                                 CHECK(life.status == LW_OK);
                             if (k % 16 == 1) {
                                 VulkanShim::reset();
                                 const Life next = whole_life(bytes, with);
                                 CHECK(next.status == LW_OK);
                                 CHECK(next.results[1].y == good.results[1].y);
                             }
                             if (!filled) folder.clear();
                         });
        }
    }
}

TEST_CASE("vulkan: whichever call of a run fails, whole or mixed, the CPU goes on where asked for") {
    if (!has_device()) return;
    std::vector<uint8_t> bytes;
    SUBCASE("on the device") { bytes = gpu_model().bytes(); }
    SUBCASE("mixed") { bytes = mixed_model().bytes(); }
    const LifeOptions with{nullptr, true, false};
    VulkanShim::reset();
    const Life good = whole_life(bytes, with);
    REQUIRE(good.status == LW_OK);
    CHECK(good.stats.fallen_back == 0);
    const uint64_t calls = VulkanShim::calls();
    uint64_t fell = 0;
    for (const auto results : each_kind)
        each_failing(bytes, with, calls, results,
                     [&](const Life &life, const std::string &name, uint64_t, VkResult result) {
                         CHECK((life.status == LW_OK) ==
                               life.made); // before there is a runner nothing can go on
                         if (!life.made) return;
                         CHECK(life.stats.fallen_back > 0);
                         fell += life.stats.fallen_back;
                         for (int i = 0; i < 2; ++i)
                             for (size_t row = 0; row < good.results[i].y.size(); ++row)
                                 CHECK(life.results[i].y[row] ==
                                       doctest::Approx(good.results[i].y[row]).epsilon(1e-5));
                         // A device that is gone computes nothing more; after any other failure it is asked
                         // again.
                         if (result == VK_ERROR_DEVICE_LOST && name == "vkQueueSubmit")
                             CHECK(life.stats.runs + life.stats.fallen_back == 2);
                     });
    CHECK(fell > 8);
}

TEST_CASE("vulkan: a run that does not end in time is LW_TIMEOUT, and the next one goes on") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    Device device;
    lw_open_options open = on(device);
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK);
    REQUIRE(lw_runner_create(model, &f32_runner, &runner) == LW_OK);
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
        CHECK(whole_life(bytes).status == c.status);
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
        CHECK(whole_life(bytes).status == LW_UNSUPPORTED);
        CHECK_MESSAGE(std::string(lw_last_error()).find(c.limit) != std::string::npos,
                      std::string(lw_last_error()));
    }
    VulkanShim::properties = nullptr;
    CHECK(whole_life(bytes).status == LW_OK);
}

TEST_CASE("vulkan: without libvulkan there is no device, and the message says what to install") {
    lw_vulkan_options options{};
    options.struct_size = sizeof options;
    options.get_instance_proc_addr = [](void *, const char *) -> void (*)(void) { return nullptr; };
    lw_device *device = nullptr;
    CHECK(lw_vulkan_open(&options, &device) == LW_NO_DEVICE);
    CHECK(device == nullptr);
}

TEST_CASE("vulkan: a feature that the code needs and the device lacks is refused by its name") {
    if (!has_device()) return;
    fb::ModulesT manifest = gpu_manifest();
    manifest.features = artifact::gpu_float64;
    const std::vector<uint8_t> bytes = gpu_model(manifest).bytes();
    VulkanShim::features = [](VkPhysicalDeviceFeatures *has) { has->shaderFloat64 = VK_FALSE; };
    VulkanShim::reset();
    CHECK(whole_life(bytes).status == LW_UNSUPPORTED);
    CHECK(std::string(lw_last_error()).find("shaderFloat64") != std::string::npos);
    VulkanShim::features = nullptr;
}

TEST_CASE(
    "vulkan: a device without 16-bit storage refuses what stores float16 by its name, and runs the rest") {
    if (!has_device()) return;
    fb::ModulesT manifest = gpu_manifest();
    VulkanShim::no_storage_16 = true;
    VulkanShim::reset();
    CHECK(whole_life(gpu_model(manifest).bytes()).status == LW_OK);
    manifest.features = artifact::gpu_storage_16;
    const std::vector<uint8_t> bytes = gpu_model(manifest).bytes();
    CHECK(whole_life(bytes).status == LW_UNSUPPORTED);
    for (const char *part : {"storageBuffer16BitAccess", "--gpu-storage f16"})
        CHECK(std::string(lw_last_error()).find(part) != std::string::npos);
    VulkanShim::no_storage_16 = false;
    CHECK(whole_life(bytes).status == LW_OK);
}

TEST_CASE("vulkan: a run out of time is computed by the CPU, and the late answer of the device changes "
          "nothing") {
    if (!has_device()) return;
#if defined(__SANITIZE_ADDRESS__)
    const __lsan::ScopedDisabler what_stays; // on the device that is abandoned below
#endif
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    lw_vulkan_options options = through_shim();
    options.fall_back = 1;
    lw_device *device = nullptr;
    VulkanShim::reset();
    REQUIRE(lw_vulkan_open(&options, &device) == LW_OK);
    lw_open_options open = on(device);
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK);
    REQUIRE(lw_runner_create(model, &f32_runner, &runner) == LW_OK);
    Results expected, results;
    REQUIRE(run_audio(runner, noise(64), &expected) == LW_OK);
    VulkanShim::fail_named("vkWaitForFences", VK_TIMEOUT);
    for (int run = 0; run < 3; ++run) { // from the second on it is abandoned
        CHECK(run_audio(runner, noise(64), &results) == LW_OK);
        for (size_t i = 0; i < 64; ++i) CHECK(results.y[i] == doctest::Approx(expected.y[i]).epsilon(1e-5));
    }
    lw_vulkan_stats stats{};
    stats.struct_size = sizeof stats;
    CHECK(lw_vulkan_get_stats(device, &stats) == LW_OK);
    CHECK(stats.runs == 1);
    CHECK(stats.fallen_back == 3);
    VulkanShim::reset();
    lw_runner_destroy(runner);
    lw_model_close(model);
    lw_vulkan_close(device); // what was made on an abandoned device stays
}

} // namespace fault_test
