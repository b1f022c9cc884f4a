// Streams on a Vulkan device: the CPU's rows, pools that grow, one dispatch for many.
#include "tests/unit/runtime/vulkan/device.h"
#include <cmath>
#include <memory>

namespace stream_test {

using namespace longwave;
using namespace longwave::test;

namespace {

struct ModelOn {
    lw_model *model = nullptr;
    ModelOn(const Device &device, const std::vector<uint8_t> &bytes) {
        const lw_open_options options = on(device);
        const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    ~ModelOn() { lw_model_close(model); }
};

double apart(const Rows &a, const Rows &b) {
    const std::vector<float> &x = a.at(0), &y = b.at(0);
    REQUIRE(x.size() == y.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::fmax(worst, std::fabs(x[i] - y[i]));
    return worst;
}

} // namespace

TEST_CASE("vulkan streams: a stream in cuts of any size gives the CPU's rows") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    Device device;
    const ModelOn gpu(device, bytes);
    const Model cpu(bytes);
    const std::vector<float> x = noise(90);
    for (const std::vector<size_t> &cuts : {std::vector<size_t>{90}, {1}, {3, 5}, {4}, {16, 1}}) {
        const Rows there = stream_in_cuts(gpu.model, x, cuts), here = stream_in_cuts(cpu, x, cuts);
        CHECK(apart(there, here) < 1e-6);
    }
}

TEST_CASE("vulkan streams: one dispatch runs all that wait, while a pool grows around them") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    Device device;
    const ModelOn gpu(device, bytes);
    const Model cpu(bytes);
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Rows> rows;
    std::vector<std::vector<float>> x;
    for (uint32_t round = 0; round < 9; ++round) {
        for (uint32_t more = 0; more <= round; ++more) { // each begins at a tick of its own
            streams.push_back(std::make_unique<Stream>(gpu.model));
            rows.emplace_back();
            x.emplace_back();
        }
        for (size_t s = 0; s < streams.size(); ++s) {
            const std::vector<float> block = noise(4, static_cast<uint32_t>(round * 100 + s));
            x[s].insert(x[s].end(), block.begin(), block.end());
            REQUIRE(lw_stream_push(*streams[s], block.data(), 4, nullptr) == LW_OK);
        }
        const lw_vulkan_stats before = device.stats();
        REQUIRE(lw_device_flush(device) == LW_OK);
        CHECK(device.stats().dispatches - before.dispatches == 1);
        CHECK(device.stats().runs - before.runs == 1);
        for (size_t s = 0; s < streams.size(); ++s) pull_all(*streams[s], &rows[s]);
        if (round % 3 == 1) { // and some go
            streams.erase(streams.begin());
            rows.erase(rows.begin());
            x.erase(x.begin());
        }
    }
    for (size_t s = 0; s < streams.size(); ++s) {
        Stream alone(cpu);
        Rows expected;
        push_all(alone, x[s], &expected);
        pull_all(alone, &expected);
        CHECK(apart(rows[s], expected) < 1e-6);
    }
}

TEST_CASE(
    "vulkan streams: commands are recorded at the first block and when the pool grows, and at no other") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    Device device;
    const ModelOn gpu(device, bytes);
    const std::vector<float> x = noise(4);
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Rows> rows(5);
    for (const size_t n : {size_t{3}, size_t{4}, size_t{5}}) { // pools of 4, 4 and 8
        while (streams.size() < n) streams.push_back(std::make_unique<Stream>(gpu.model));
        const lw_vulkan_stats before = device.stats();
        for (size_t block = 0; block < 20; ++block) {
            for (size_t s = 0; s < 1 + block % n; ++s) // not always all of them
                REQUIRE(lw_stream_push(*streams[s], x.data(), 4, nullptr) == LW_OK);
            REQUIRE(lw_device_flush(device) == LW_OK);
            for (size_t s = 0; s < n; ++s) pull_all(*streams[s], &rows[s]);
        }
        CHECK(device.stats().runs - before.runs == 20);
        CHECK(device.stats().recordings - before.recordings == (n == 4 ? 0 : 1));
    }
}

TEST_CASE("vulkan streams: a flush without streams or a device is none") {
    CHECK(lw_device_flush(nullptr) == LW_OK);
    if (!has_device()) return;
    Device device;
    CHECK(lw_device_flush(device) == LW_OK);
}

TEST_CASE("vulkan streams: a block that does not end in time fails its streams until they are reset") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    Device device;
    const ModelOn gpu(device, bytes);
    Stream one(gpu.model), two(gpu.model);
    const std::vector<float> x = noise(4);
    for (lw_stream *stream : {static_cast<lw_stream *>(one), static_cast<lw_stream *>(two)})
        REQUIRE(lw_stream_push(stream, x.data(), 4, nullptr) == LW_OK);
    VulkanShim::fail_named("vkWaitForFences", VK_TIMEOUT);
    CHECK(lw_device_flush(device) == LW_TIMEOUT);
    VulkanShim::reset();
    CHECK(lw_stream_push(one, x.data(), 4, nullptr) == LW_WRONG_STATE);
    CHECK(lw_stream_push(two, x.data(), 4, nullptr) == LW_WRONG_STATE);
    REQUIRE(lw_stream_reset(one) == LW_OK);
    REQUIRE(lw_stream_push(one, x.data(), 4, nullptr) == LW_OK);
    CHECK(lw_device_flush(device) == LW_OK);
    Rows rows;
    pull_all(one, &rows);
    CHECK(rows[0].size() == 4);
}

TEST_CASE("vulkan streams: what the CPU only writes lies in memory of the device, where there is room") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    const std::vector<float> x = noise(90);
    const Rows expected = stream_in_cuts(Model(bytes), x, {4});
    using Memory = VulkanShim::Memory;
    for (const Memory kinds : {Memory::shared, Memory::apart, Memory::window, Memory::full}) {
        VulkanShim::reset();
        VulkanShim::kinds = kinds;
        const int64_t before = VulkanShim::alive();
        {
            const Device device;
            const ModelOn gpu(device, bytes);
            CHECK(apart(stream_in_cuts(gpu.model, x, {4}), expected) < 1e-6);
        }
        VulkanShim::kinds = Memory::apart;
        CHECK((VulkanShim::in_window() > 0) == (kinds == Memory::window || kinds == Memory::full));
        CHECK(VulkanShim::alive() == before);
    }
}

} // namespace stream_test
