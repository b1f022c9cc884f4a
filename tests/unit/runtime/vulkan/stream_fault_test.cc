// Every call that can fail in the life of streams on a Vulkan device, failing: a named status,
// nothing kept.
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/device.h"

namespace stream_fault_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// The life of three streams of a model; the first failure, or LW_OK. What is written stays within
// `rows`.
lw_status life(const std::vector<uint8_t> &bytes, Rows *rows) {
    lw_vulkan_options options = through_shim();
    lw_device *device = nullptr;
    lw_model *model = nullptr;
    lw_stream *streams[3] = {};
    lw_status status = lw_vulkan_open(&options, &device);
    if (status == LW_OK) {
        const lw_open_options open = on(device);
        status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
    }
    for (lw_stream *&stream : streams)
        if (status == LW_OK) status = lw_stream_create(model, &f32_stream, &stream);
    const std::vector<float> x = noise(10);
    for (lw_stream *stream : streams)
        if (status == LW_OK) status = lw_stream_push(stream, x.data(), x.size(), nullptr);
    if (status == LW_OK) status = lw_device_flush(device);
    uint8_t state[1024];
    size_t n = sizeof state;
    if (status == LW_OK) status = lw_stream_save(streams[0], state, n, &n);
    if (status == LW_OK) status = lw_stream_load(streams[1], state, n);
    if (status == LW_OK) status = lw_stream_copy(streams[2], streams[1]);
    if (status == LW_OK) status = lw_stream_reset(streams[0]);
    if (status == LW_OK) status = lw_stream_push(streams[2], x.data(), 2, nullptr);
    lw_stream_row out{};
    out.struct_size = sizeof out;
    for (int i = 0; i < 12 && status == LW_OK; ++i)
        if ((status = lw_stream_pull(streams[2], &out)) == LW_OK) (*rows)[0].push_back(out.data[0]);
    for (lw_stream *stream : streams) lw_stream_destroy(stream);
    lw_model_close(model);
    lw_vulkan_close(device);
    return status;
}

} // namespace

TEST_CASE("vulkan streams: whichever call fails, there is a named status, the rows so far are right, and "
          "nothing is "
          "kept") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    Rows good;
    VulkanShim::reset();
    REQUIRE(life(bytes, &good) == LW_OK);
    REQUIRE(good.at(0).size() == 12);
    const uint64_t calls = VulkanShim::calls();
    CHECK(VulkanShim::alive() == 0);
    for (const VkResult result : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST})
        for (uint64_t k = result == VK_ERROR_DEVICE_LOST ? 2 : 1; k <= calls; k += 2) {
            const int64_t before = VulkanShim::alive();
            VulkanShim::fail(k, result);
            Rows rows;
            const lw_status status = life(bytes, &rows);
            const std::string name = VulkanShim::failed_name();
            CAPTURE(name);
            CAPTURE(k);
            CHECK((status == LW_NO_MEMORY || status == LW_DEVICE_LOST || status == LW_DEVICE ||
                   status == LW_NO_DEVICE));
            for (size_t i = 0; i < rows[0].size(); ++i) CHECK(rows[0][i] == good[0][i]);
            const bool lost_way = name == "vkDestroyInstance" || name == "vkDestroyDevice";
            CHECK(VulkanShim::alive() - before <= (lost_way ? 1 : 0));
        }
    VulkanShim::reset();
}

} // namespace stream_fault_test
