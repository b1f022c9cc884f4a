// A device that answers wrongly, or not the same twice, is disabled; one that answered rightly is
// remembered.
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/life.h"
#include <fstream>

namespace proof_test {

using namespace longwave;
using namespace longwave::test;

namespace {

struct Opened {
    explicit Opened(const std::vector<uint8_t> &bytes, const char *folder = nullptr, bool fall_back = false) {
        lw_vulkan_options options = through_shim();
        options.cache_folder = folder;
        options.fall_back = fall_back;
        REQUIRE(lw_vulkan_open(&options, &device) == LW_OK);
        const lw_open_options open = on(device);
        REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK);
    }
    ~Opened() {
        lw_model_close(model);
        lw_vulkan_close(device);
    }
    Opened(const Opened &) = delete;
    lw_status run() const {
        lw_runner *runner = nullptr;
        Results results;
        lw_status status = lw_runner_create(model, &f32_runner, &runner);
        if (status == LW_OK) status = run_audio(runner, noise(64), &results);
        lw_runner_destroy(runner);
        return status;
    }
    lw_vulkan_stats stats() const {
        lw_vulkan_stats stats{};
        stats.struct_size = sizeof stats;
        CHECK(lw_vulkan_get_stats(device, &stats) == LW_OK);
        return stats;
    }
    lw_device *device = nullptr;
    lw_model *model = nullptr;
};

bool says(const char *text) { return std::string(lw_last_error()).find(text) != std::string::npos; }

} // namespace

TEST_CASE("vulkan: a proof is two runs of the golden vectors, and none where it is remembered") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = model_with_golden();
    const CacheFolder folder;
    const std::string path = folder.path;
    VulkanShim::reset();
    double worst = -1, remembered = -1;
    {
        const Opened first(bytes, path.c_str());
        CHECK(lw_vulkan_prove(first.model, 0, &worst) == LW_OK);
        CHECK(worst < 1);
        CHECK(first.stats().runs == 2);
    }
    const Opened second(bytes, path.c_str());
    CHECK(lw_vulkan_prove(second.model, 0, &remembered) == LW_OK);
    CHECK(remembered == worst);
    CHECK(second.stats().runs == 0);
    CHECK(second.stats().remembered_proofs == 1);
    CHECK(lw_vulkan_prove(second.model, 1, nullptr) == LW_OK); // always, when asked to
    CHECK(second.stats().runs == 2);
    const Opened without(bytes);
    CHECK(lw_vulkan_prove(without.model, 0, nullptr) == LW_OK);
    CHECK(without.stats().runs == 2);
    // Another artifact was not proved by this one, nor this one under another driver.
    const Opened other(model_with_golden(2e-5f), path.c_str());
    CHECK(lw_vulkan_prove(other.model, 0, nullptr) == LW_OK);
    CHECK(other.stats().runs == 2);
    VulkanShim::properties = [](VkPhysicalDeviceProperties *p) { ++p->driverVersion; };
    {
        const Opened updated(bytes, path.c_str());
        CHECK(lw_vulkan_prove(updated.model, 0, nullptr) == LW_OK);
        CHECK(updated.stats().runs == 2);
    }
    VulkanShim::properties = nullptr;
}

TEST_CASE(
    "vulkan: a device that answers wrongly is disabled by name, runs nothing more, and is not remembered") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = model_with_golden();
    const CacheFolder folder;
    const std::string path = folder.path;
    VulkanShim::reset();
    const Opened opened(bytes, path.c_str());
    VulkanShim::corrupt(1);
    double worst = 0;
    CHECK(lw_vulkan_prove(opened.model, 0, &worst) == LW_DEVICE_WRONG);
    CHECK(says("answers wrongly"));
    CHECK(worst > 1000);
    VulkanShim::reset(); // too late: it is not trusted again
    CHECK(opened.run() == LW_DEVICE_WRONG);
    CHECK(says("disabled until it is reopened"));
    CHECK(lw_vulkan_prove(opened.model, 1, nullptr) == LW_DEVICE_WRONG);
    const lw_open_options open = on(opened.device);
    lw_model *more = nullptr;
    CHECK(lw_model_open_memory(bytes.data(), bytes.size(), &open, &more) == LW_DEVICE_WRONG);
    const Opened again(bytes, path.c_str());
    CHECK(again.stats().cached_models == 1);
    CHECK(lw_vulkan_prove(again.model, 0, nullptr) == LW_OK);
    CHECK(again.stats().remembered_proofs == 0);
}

TEST_CASE("vulkan: a device that answers rightly once and wrongly once is unstable") {
    if (!has_device()) return;
    VulkanShim::reset();
    const Opened opened(model_with_golden());
    VulkanShim::corrupt(2);
    CHECK(lw_vulkan_prove(opened.model, 0, nullptr) == LW_DEVICE_WRONG);
    CHECK(says("unstable"));
    VulkanShim::reset();
}

TEST_CASE("vulkan: a disabled device falls back, and a proof never does") {
    if (!has_device()) return;
    VulkanShim::reset();
    const Opened opened(model_with_golden(), nullptr, true);
    VulkanShim::fail_named("vkQueueSubmit", VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(lw_vulkan_prove(opened.model, 0, nullptr) == LW_NO_MEMORY);
    VulkanShim::reset();
    VulkanShim::corrupt(1);
    CHECK(lw_vulkan_prove(opened.model, 0, nullptr) == LW_DEVICE_WRONG);
    VulkanShim::reset();
    CHECK(opened.stats().fallen_back == 0);
    CHECK(opened.run() == LW_OK);
    CHECK(opened.stats().fallen_back == 1);
}

TEST_CASE("vulkan: only a model of a Vulkan device can be proved") {
    if (!has_device()) return;
    const Model cpu(gpu_model().bytes());
    CHECK(lw_vulkan_prove(cpu, 0, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_vulkan_prove(nullptr, 0, nullptr) == LW_INVALID_ARGUMENT);
}

} // namespace proof_test
