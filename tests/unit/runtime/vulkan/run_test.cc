// Whole sequences on a Vulkan device: what the CPU gives, in as many dispatches as the plan has
// calls.
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/life.h"
#include <cmath>
#include <cstdio>

namespace run_test {

using namespace longwave;
using namespace longwave::test;

namespace {

class OnDevice {
public:
    OnDevice(const Device &device, const std::vector<uint8_t> &bytes) {
        const lw_open_options options = on(device);
        const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model_);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    ~OnDevice() { lw_model_close(model_); }
    operator lw_model *() const { return model_; }

private:
    lw_model *model_ = nullptr;
};

class Runner {
public:
    explicit Runner(const lw_model *model, uint32_t threads = 1, uint32_t sequences = 1) {
        lw_runner_options options = f32_runner;
        options.threads = threads;
        options.sequences = sequences;
        const lw_status status = lw_runner_create(model, &options, &runner_);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    ~Runner() { lw_runner_destroy(runner_); }
    operator lw_runner *() const { return runner_; }

private:
    lw_runner *runner_ = nullptr;
};

double apart(const Results &a, const Results &b) {
    double worst = std::fabs(a.mean[0] - b.mean[0]);
    for (size_t i = 0; i < a.y.size(); ++i) worst = std::fmax(worst, std::fabs(a.y[i] - b.y[i]));
    return worst;
}

} // namespace

TEST_CASE("vulkan: sequences of every length give what the CPU gives, in one submission and one "
          "dispatch a call") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    Device device;
    OnDevice gpu(device, bytes);
    const Model cpu(bytes);
    Runner there(gpu), here(cpu);
    uint64_t runs = 0;
    for (size_t rows : {64, 1, 7, 63, 64, 64}) {
        Results on_gpu, on_cpu;
        const std::vector<float> x = noise(rows, static_cast<uint32_t>(rows));
        REQUIRE(run_audio(there, x, &on_gpu) == LW_OK);
        REQUIRE(run_audio(here, x, &on_cpu) == LW_OK);
        CHECK(apart(on_gpu, on_cpu) < 1e-6);
        const lw_vulkan_stats stats = device.stats();
        CHECK(stats.runs == ++runs);
        CHECK(stats.dispatches == 2 * runs);
    }
    // The entry clears behind the end of a sequence, so it is recorded for each length that differs
    // from the last.
    CHECK(device.stats().recordings == 5);
    CHECK(device.stats().uploaded_bytes == 36); // nine derived taps: no GPU entry reads the weights
}

// What allocations on the device take.
int64_t device_bytes = 0;

TEST_CASE("vulkan: where host and device share all memory, inputs and outputs are not copied") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    Results results[2];
    int64_t taken[2];
    for (const bool shared : {false, true}) {
        VulkanShim::kinds = shared ? VulkanShim::Memory::shared : VulkanShim::Memory::apart;
        Device device;
        OnDevice gpu(device, bytes);
        device_bytes = 0;
        VulkanShim::memory = [](int64_t change) { device_bytes += change; };
        Runner runner(gpu);
        taken[shared] = device_bytes;
        VulkanShim::memory = nullptr;
        for (const size_t rows : {size_t{64}, size_t{7}, size_t{40}}) // longer ones before shorter ones
            REQUIRE(run_audio(runner, noise(rows), results + shared) == LW_OK);
    }
    VulkanShim::kinds = VulkanShim::Memory::apart;
    CHECK(results[0].y == results[1].y);
    CHECK(results[0].mean == results[1].mean);
    CHECK(taken[0] - taken[1] >= 64 * 4); // at least the room for a copy of the input
}

TEST_CASE("vulkan: a run that fails where all memory is shared falls back from its own inputs") {
    if (!has_device()) return;
    VulkanShim::kinds = VulkanShim::Memory::shared;
    {
        const std::vector<uint8_t> bytes = gpu_model().bytes();
        const OpenedModel opened(bytes, true);
        Runner there(opened.model);
        const Model cpu(bytes);
        Runner here(cpu);
        const std::vector<float> x = noise(40);
        Results on_gpu, on_cpu;
        REQUIRE(run_audio(here, x, &on_cpu) == LW_OK);
        VulkanShim::fail_named("vkWaitForFences", VK_ERROR_DEVICE_LOST); // after it has run
        REQUIRE(run_audio(there, x, &on_gpu) == LW_OK);
        VulkanShim::reset();
        CHECK(on_gpu.y == on_cpu.y);
    }
    VulkanShim::kinds = VulkanShim::Memory::apart;
}

TEST_CASE("vulkan: the valid length of a padded sequence reaches the kernel") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    Device device;
    OnDevice gpu(device, bytes);
    const Model cpu(bytes);
    Runner there(gpu), here(cpu);
    for (size_t length : {1, 13, 40}) {
        Results on_gpu, on_cpu;
        const std::vector<float> x = noise(40);
        REQUIRE(run_audio(there, x, &on_gpu, length) == LW_OK);
        REQUIRE(run_audio(here, x, &on_cpu, length) == LW_OK);
        CHECK(apart(on_gpu, on_cpu) < 1e-6);
    }
}

TEST_CASE("vulkan: a batch on several threads gives the same bits as one after the other") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_model().bytes();
    Device device;
    OnDevice gpu(device, bytes);
    Runner one(gpu), three(gpu, 3, 3);
    check_batch(one, three, 12);
}

TEST_CASE("vulkan: golden vectors are those of the device's entries, and a wrong one is told") {
    if (!has_device()) return;
    for (const float limit : {1e-5f, 1e-12f}) {
        const std::vector<uint8_t> bytes = model_with_golden(limit, 1e-7f); // nobody gives that
        Device device;
        OnDevice gpu(device, bytes);
        double worst = -1;
        const lw_status status = lw_model_verify(gpu, &worst);
        CHECK(status == (limit > 1e-6f ? LW_OK : LW_CHECK_FAILED));
        CHECK(worst > 0);
        CHECK(device.stats().runs == 1);
        const Model again(bytes);
        CHECK(lw_model_verify(again, &worst) == LW_OK); // the CPU has none of its own
    }
}

TEST_CASE("vulkan: what does not run on a device is refused in one line") {
    if (!has_device()) return;
    Device device;
    OnDevice gpu(device, gpu_model().bytes());
    lw_stream *stream = nullptr;
    CHECK(lw_stream_create(gpu, &f32_stream, &stream) == LW_NO_STREAM);
    CHECK(std::string(lw_last_error()).find("without a stream for this device") != std::string::npos);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(gpu, &info) == LW_OK);
    CHECK(info.has_run == 1);
    CHECK(info.has_stream == 0);

    lw_model *model = nullptr;
    const std::vector<uint8_t> none = audio_model().bytes();
    const lw_open_options options = on(device);
    CHECK(lw_model_open_memory(none.data(), none.size(), &options, &model) == LW_UNSUPPORTED);
    CHECK(std::string(lw_last_error()).find("--target vulkan") != std::string::npos);

    fb::ModulesT manifest = gpu_manifest();
    manifest.modules[0]->bindings[1] = 0;
    const std::vector<uint8_t> broken = gpu_model(manifest).bytes();
    CHECK(lw_model_open_memory(broken.data(), broken.size(), &options, &model) == LW_BAD_ARTIFACT);
    CHECK(std::string(lw_last_error()).find("rule V21") != std::string::npos);
}

TEST_CASE("vulkan: a device is found by number and by name, and one that is not there is not found") {
    if (!has_device()) return;
    lw_vulkan_info info{};
    info.struct_size = sizeof info;
    size_t n = 1;
    const lw_status listed = lw_vulkan_devices(nullptr, &info, &n);
    CHECK((listed == LW_OK || listed == LW_TOO_SMALL));
    CHECK(info.name[0] != 0);
    CHECK(info.shared_bytes >= 16384);
    {
        Device first("0");
    }
    {
        Device named(info.name);
    }
    lw_vulkan_options options = through_shim();
    lw_device *device = nullptr;
    for (const char *wanted : {"63", "no such device"}) {
        options.device = wanted;
        CHECK(lw_vulkan_open(&options, &device) == LW_NO_DEVICE);
        CHECK(device == nullptr);
    }
    CHECK(lw_vulkan_open(nullptr, nullptr) == LW_INVALID_ARGUMENT);
    options.struct_size = 0;
    CHECK(lw_vulkan_open(&options, &device) == LW_INVALID_ARGUMENT);
}

} // namespace run_test
