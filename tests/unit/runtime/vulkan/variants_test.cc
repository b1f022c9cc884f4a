// Variants of kernels: the device takes the fastest, remembers it, and proves what it takes.
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/life.h"

namespace variants_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr uint32_t slow = 4096; // times the work: far beyond what a busy machine adds

// The FIR and the mean have two variants each. Of the FIR the second is the fast one, of the mean the first.
std::vector<uint8_t> model() {
    fb::ModulesT manifest = variants_manifest();
    manifest.variants.pop_back();
    const auto make_slow = [](fb::ModuleT &module) {
        *module.grid = fb::Extent3(module.grid->x(), module.grid->y(), slow);
    };
    make_slow(*manifest.modules[0]);
    make_slow(*manifest.variants[1]);
    return gpu_model(manifest).bytes();
}

struct Opened {
    Opened(const std::vector<uint8_t> &bytes, int time_variants, const char *folder = nullptr) {
        lw_vulkan_options options = through_shim();
        options.cache_folder = folder;
        options.time_variants = time_variants;
        REQUIRE(lw_vulkan_open(&options, &device) == LW_OK);
        const lw_open_options open = on(device);
        status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
    }
    ~Opened() {
        lw_model_close(model);
        lw_vulkan_close(device);
    }
    Opened(const Opened &) = delete;

    std::vector<lw_vulkan_variants> kernels() const {
        std::vector<lw_vulkan_variants> list(4);
        list[0].struct_size = sizeof list[0];
        size_t n = list.size();
        CHECK(lw_vulkan_get_variants(model, list.data(), &n) == LW_OK);
        list.resize(n);
        return list;
    }
    std::vector<uint32_t> chosen() const {
        std::vector<uint32_t> numbers;
        for (const lw_vulkan_variants &kernel : kernels()) numbers.push_back(kernel.chosen);
        return numbers;
    }
    Results run() const {
        lw_runner *runner = nullptr;
        Results results;
        REQUIRE(lw_runner_create(model, &f32_runner, &runner) == LW_OK);
        CHECK(run_audio(runner, noise(64), &results) == LW_OK);
        lw_runner_destroy(runner);
        return results;
    }
    uint64_t runs() const {
        lw_vulkan_stats stats{};
        stats.struct_size = sizeof stats;
        CHECK(lw_vulkan_get_stats(device, &stats) == LW_OK);
        return stats.runs;
    }

    lw_device *device = nullptr;
    lw_model *model = nullptr;
    lw_status status = LW_OK;
};

using Numbers = std::vector<uint32_t>;

} // namespace

TEST_CASE("vulkan variants: the device takes the fastest, and the result is the same") {
    if (!has_device()) return;
    VulkanShim::reset();
    const std::vector<uint8_t> bytes = model();
    const Opened first(bytes, 2), timed(bytes, 1);
    CHECK(first.chosen() == Numbers{0, 0});
    CHECK(timed.chosen() == Numbers{1, 0});
    for (const lw_vulkan_variants &kernel : timed.kernels()) {
        CHECK(kernel.n == 2);
        CHECK(kernel.us[kernel.chosen] > 0);
        CHECK(kernel.us[1 - kernel.chosen] > kernel.us[kernel.chosen]);
        CHECK(kernel.us[2] == 0);
    }
    CHECK(std::string(timed.kernels()[1].kernel) == "mean on a GPU");
    const Results a = first.run(), b = timed.run();
    CHECK(a.y == b.y);
    CHECK(a.mean == b.mean);
}

TEST_CASE("vulkan variants: a choice is remembered for this file and device, and can be left out") {
    if (!has_device()) return;
    VulkanShim::reset();
    const CacheFolder folder;
    const std::string path = folder.path;
    const std::vector<uint8_t> bytes = model();
    CHECK(Opened(bytes, 0, path.c_str()).chosen() ==
          Numbers{0, 0}); // a software device times nothing by itself
    const float us = [&] {
        const Opened timed(bytes, 1, path.c_str());
        return timed.kernels()[0].us[1];
    }();
    const Opened again(bytes, 0, path.c_str());
    CHECK(again.chosen() == Numbers{1, 0});
    CHECK(again.kernels()[0].us[1] == us); // not timed again
    CHECK(Opened(bytes, 2, path.c_str()).chosen() == Numbers{0, 0});
    CHECK(Opened(bytes, 0).chosen() == Numbers{0, 0});
    CHECK(Opened(gpu_model(variants_manifest()).bytes(), 0, path.c_str()).chosen() ==
          Numbers{0, 0}); // another file
    VulkanShim::properties = [](VkPhysicalDeviceProperties *p) { ++p->driverVersion; };
    CHECK(Opened(bytes, 0, path.c_str()).chosen() == Numbers{0, 0});
    VulkanShim::properties = nullptr;
}

TEST_CASE("vulkan variants: a GPU times them when it first opens a file, if there is a folder for it") {
    if (!has_device()) return;
    VulkanShim::reset();
    const CacheFolder folder;
    const std::string path = folder.path;
    const std::vector<uint8_t> bytes = model();
    VulkanShim::properties = [](VkPhysicalDeviceProperties *p) {
        p->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    };
    CHECK(Opened(bytes, 0).chosen() == Numbers{0, 0});
    CHECK(Opened(bytes, 0, path.c_str()).chosen() == Numbers{1, 0});
    VulkanShim::properties = nullptr;
}

TEST_CASE("vulkan variants: a proof of other variants is none") {
    if (!has_device()) return;
    VulkanShim::reset();
    const CacheFolder folder;
    const std::string path = folder.path;
    Draft draft = gpu_model([] {
        fb::ModulesT manifest = variants_manifest();
        *manifest.modules[0]->grid = fb::Extent3(manifest.modules[0]->grid->x(), 1, slow);
        return manifest;
    }());
    const std::vector<uint8_t> bytes = draft.bytes();
    const auto prove = [&](int time_variants) {
        const Opened opened(bytes, time_variants, path.c_str());
        CHECK(lw_vulkan_prove(opened.model, 0, nullptr) == LW_OK);
        lw_vulkan_stats stats{};
        stats.struct_size = sizeof stats;
        CHECK(lw_vulkan_get_stats(opened.device, &stats) == LW_OK);
        return stats.remembered_proofs;
    };
    CHECK(prove(2) == 0);
    CHECK(prove(2) == 1);
    CHECK(prove(1) == 0);
    CHECK(prove(0) == 1);
    CHECK(prove(2) == 0);
}

TEST_CASE("vulkan variants: without memory for timing the first of each is taken, other failures are told") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = model();
    const int64_t before = VulkanShim::alive();
    VulkanShim::fail_named("vkCreateQueryPool", VK_ERROR_OUT_OF_HOST_MEMORY);
    {
        const Opened opened(bytes, 1);
        CHECK(opened.status == LW_OK);
        CHECK(opened.chosen() == Numbers{0, 0});
    }
    VulkanShim::fail_named("vkGetQueryPoolResults", VK_ERROR_DEVICE_LOST);
    {
        const Opened opened(bytes, 1);
        CHECK(opened.status == LW_DEVICE_LOST);
        CHECK(opened.model == nullptr);
    }
    VulkanShim::reset();
    CHECK(VulkanShim::alive() == before);
    CHECK(taken == 0);
}

TEST_CASE("vulkan variants: whichever call fails while they are timed, nothing is left over") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = model();
    int without_one = 0; // a driver that rejects a variant: the others are there
    bool more = true;
    for (uint64_t nth = 1; more; ++nth) {
        const int64_t before = VulkanShim::alive();
        VulkanShim::fail(nth, VK_ERROR_UNKNOWN);
        lw_vulkan_options options = through_shim();
        options.time_variants = 1;
        lw_device *device = nullptr;
        lw_model *model = nullptr;
        if (lw_vulkan_open(&options, &device) == LW_OK) {
            const lw_open_options open = on(device);
            const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
            CHECK((status == LW_OK) == (model != nullptr));
        }
        more = VulkanShim::failed();
        const std::string name = VulkanShim::failed_name();
        if (more && model && name == "vkCreateComputePipelines") ++without_one;
        lw_model_close(model);
        lw_vulkan_close(device);
        INFO("call ", nth, ", ", name);
        // Without these two entry points the instance or the device cannot be given back.
        const bool lost_way = name == "vkDestroyInstance" || name == "vkDestroyDevice";
        CHECK(VulkanShim::alive() - before == (lost_way ? 1 : 0));
        CHECK(taken == 0);
    }
    VulkanShim::reset();
    CHECK(without_one == 4);
}

TEST_CASE("vulkan variants: what was asked for wrongly") {
    if (!has_device()) return;
    VulkanShim::reset();
    lw_vulkan_options options = through_shim();
    options.time_variants = 3;
    lw_device *device = nullptr;
    CHECK(lw_vulkan_open(&options, &device) == LW_INVALID_ARGUMENT);
    const Opened opened(model(), 2);
    size_t n = 1;
    lw_vulkan_variants one{};
    CHECK(lw_vulkan_get_variants(opened.model, &one, &n) == LW_INVALID_ARGUMENT); // no struct_size
    CHECK(n == 0);
    one.struct_size = sizeof one, n = 1;
    CHECK(lw_vulkan_get_variants(opened.model, &one, &n) == LW_TOO_SMALL);
    CHECK(n == 2);
    CHECK(one.n == 2);
    n = 0;
    CHECK(lw_vulkan_get_variants(opened.model, nullptr, &n) == LW_TOO_SMALL);
    CHECK(lw_vulkan_get_variants(opened.model, nullptr, nullptr) == LW_INVALID_ARGUMENT);
    const Model cpu(gpu_model().bytes());
    CHECK(lw_vulkan_get_variants(cpu, nullptr, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_vulkan_get_variants(nullptr, nullptr, &n) == LW_INVALID_ARGUMENT);
}

} // namespace variants_test
