// Creating and ending n streams is work in proportion to n. What is counted: places of pools that
// are looked at, and calls of Vulkan.
#include "runtime/vulkan/device/gpu.h"
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/device.h"
#include <algorithm>
#include <random>

namespace many_streams_test {

using namespace longwave;
using namespace longwave::test;

namespace {

struct Work {
    uint64_t places = 0, calls = 0;
};

enum class Order { as_made, backwards, random };

uint64_t places(const Device &device) { return runtime::vulkan::gpu_of(device).stats.places_examined; }

// Creates n streams, pushes a block to each, and destroys them. Half of them are replaced in
// between.
Work create_and_destroy(const Device &device, const lw_model *model, size_t n, Order order) {
    const uint64_t before = places(device);
    VulkanShim::reset();
    std::vector<lw_stream *> streams(n);
    const auto create = [&](lw_stream *&stream) {
        REQUIRE(lw_stream_create(model, &f32_stream, &stream) == LW_OK);
    };
    for (lw_stream *&stream : streams) create(stream);
    if (order == Order::backwards) std::reverse(streams.begin(), streams.end());
    if (order == Order::random) std::shuffle(streams.begin(), streams.end(), std::mt19937(7));
    for (size_t i = 0; i < n; i += 2) lw_stream_destroy(streams[i]);
    for (size_t i = 0; i < n; i += 2) create(streams[i]);
    const std::vector<float> block = noise(4);
    for (lw_stream *stream : streams) REQUIRE(lw_stream_push(stream, block.data(), 4, nullptr) == LW_OK);
    REQUIRE(lw_device_flush(device) == LW_OK);
    for (lw_stream *stream : streams) {
        lw_stream_row row{};
        row.struct_size = sizeof row;
        CHECK(lw_stream_pull(stream, &row) == LW_OK);
        lw_stream_destroy(stream);
    }
    return {places(device) - before, VulkanShim::calls()};
}

void grows_with_n(const Device &device, const lw_model *model) {
    for (const Order order : {Order::as_made, Order::backwards, Order::random}) {
        CAPTURE(static_cast<int>(order));
        for (const size_t n : {64, 512}) { // half of them twice; one look to take a place, one to give it
            const Work work = create_and_destroy(device, model, n, order);
            CHECK(work.places == 3 * n);
        }
        const Work small = create_and_destroy(device, model, 128, order),
                   large = create_and_destroy(device, model, 512, order);
        CHECK(large.calls <= 5 * small.calls);
    }
}

} // namespace

TEST_CASE("vulkan streams: creating and destroying n of them is work in proportion to n") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    const Device device;
    const lw_open_options options = on(device);
    lw_model *model = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    grows_with_n(device, model);
    lw_model_close(model);
}

TEST_CASE(
    "vulkan streams: and so it is when they lie in many pools, because a device binds only a few at once") {
    if (!has_device()) return;
    VulkanShim::properties = [](VkPhysicalDeviceProperties *all) {
        all->limits.maxComputeWorkGroupCount[2] = 3;
    };
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    {
        const Device device;
        const lw_open_options options = on(device);
        lw_model *model = nullptr;
        REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
        grows_with_n(device, model);
        lw_model_close(model);
    }
    VulkanShim::properties = nullptr;
}

} // namespace many_streams_test
