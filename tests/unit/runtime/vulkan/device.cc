#include "tests/unit/runtime/vulkan/device.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace longwave::test {

bool has_device() {
    static const bool found = [] {
        VulkanShim::no_barriers =
            std::getenv("LONGWAVE_TEST_NO_BARRIERS") != nullptr; // tests/with_validation
        size_t n = 0;
        const lw_status status = lw_vulkan_devices(nullptr, nullptr, &n);
        if ((status == LW_OK || status == LW_TOO_SMALL) && n > 0) {
            // The self-test runs once in a process. Now no later opening makes its calls.
            lw_device *first = nullptr;
            if (lw_vulkan_open(nullptr, &first) == LW_OK) lw_vulkan_close(first);
            return true;
        }
        std::printf("SKIPPED: no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)\n");
        std::fflush(stdout);
        std::_Exit(77);
    }();
    return found;
}

Device::Device(const char *wanted, bool fall_back) {
    lw_vulkan_options options = through_shim();
    options.device = wanted;
    options.fall_back = fall_back;
    const lw_status status = lw_vulkan_open(&options, &device_);
    INFO(lw_last_error());
    REQUIRE(status == LW_OK);
}

lw_vulkan_stats Device::stats() const {
    lw_vulkan_stats stats{};
    stats.struct_size = sizeof stats;
    CHECK(lw_vulkan_get_stats(device_, &stats) == LW_OK);
    return stats;
}

OpenedModel::OpenedModel(const std::vector<uint8_t> &bytes, bool fall_back) : device(nullptr, fall_back) {
    const lw_open_options options = on(device);
    const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
    INFO(lw_last_error());
    REQUIRE(status == LW_OK);
}

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

CacheFolder::CacheFolder() {
    char name[] = "/tmp/longwave-vulkan-XXXXXX";
    above = mkdtemp(name);
    path = above / "cache";
}

CacheFolder::~CacheFolder() { std::filesystem::remove_all(above); }

std::vector<std::filesystem::path> CacheFolder::files() const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(path))
        for (const auto &entry : std::filesystem::directory_iterator(path)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

void CacheFolder::clear() const {
    for (const auto &file : files()) std::filesystem::remove(file);
}

lw_vulkan_options through_shim() {
    lw_vulkan_options options{};
    options.share_dispatches = 1;
    options.struct_size = sizeof options;
    options.get_instance_proc_addr = VulkanShim::get_instance_proc_addr;
    return options;
}

lw_open_options on(const lw_device *device) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.device = device;
    return options;
}

lw_status run_audio(lw_runner *runner, const std::vector<float> &x, Results *results, size_t length) {
    results->y.assign(x.size(), -1);
    results->mean.assign(1, -1);
    const lw_run_tensor in{sizeof(lw_run_tensor), const_cast<float *>(x.data()), x.size(), length};
    lw_run_tensor out[2] = {{sizeof(lw_run_tensor), results->y.data(), results->y.size(), 0},
                            {sizeof(lw_run_tensor), results->mean.data(), 1, 0}};
    return lw_run(runner, &in, 1, out, 2);
}

void check_batch(lw_runner *one, lw_runner *threads, size_t n) {
    std::vector<std::vector<float>> x;
    std::vector<Results> batched(n);
    std::vector<lw_run_tensor> in, out;
    for (size_t s = 0; s < n; ++s) x.push_back(noise(20 + 3 * s, static_cast<uint32_t>(s)));
    for (size_t s = 0; s < n; ++s) {
        batched[s].y.resize(x[s].size());
        batched[s].mean.resize(1);
        in.push_back({sizeof(lw_run_tensor), x[s].data(), x[s].size(), 0});
        out.push_back({sizeof(lw_run_tensor), batched[s].y.data(), x[s].size(), 0});
        out.push_back({sizeof(lw_run_tensor), batched[s].mean.data(), 1, 0});
    }
    REQUIRE(lw_run_batch(threads, n, in.data(), 1, out.data(), 2) == LW_OK);
    for (size_t s = 0; s < n; ++s) {
        Results alone;
        REQUIRE(run_audio(one, x[s], &alone) == LW_OK);
        CHECK(alone.y == batched[s].y);
        CHECK(alone.mean == batched[s].mean);
    }
}

} // namespace longwave::test
