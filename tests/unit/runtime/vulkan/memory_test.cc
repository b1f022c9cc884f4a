// memory_limit counts what lies on the device.
#include "runtime/core/memory.h"
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/device.h"

namespace memory_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// Bytes of the caller's allocator and of the device together.
int64_t now = 0, most = 0;
void change(int64_t bytes) {
    now += bytes;
    most = std::max(most, now);
}

using runtime::to_line;

const lw_allocator metering = {
    [](void *, size_t size, size_t alignment) {
        change(static_cast<int64_t>(to_line(size)));
        return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    },
    [](void *, void *memory, size_t size) {
        change(-static_cast<int64_t>(to_line(size)));
        free(memory);
    },
    nullptr,
};

struct Metered {
    Metered() {
        now = most = 0;
        VulkanShim::memory = change;
    }
    ~Metered() { VulkanShim::memory = nullptr; }
};

lw_open_options limited(const lw_device *device, uint64_t limit) {
    lw_open_options options = on(device);
    options.allocator = &metering;
    options.memory_limit = limit;
    return options;
}

// The model, one stream and one runner, one after the other; how far it came.
struct Made {
    lw_status opened = LW_OK, stream = LW_OK, runner = LW_OK;
    lw_model_info info{};
};

Made make_all(const std::vector<uint8_t> &bytes, const lw_device *device, uint64_t limit) {
    Made made;
    const lw_open_options options = limited(device, limit);
    lw_model *model = nullptr;
    made.opened = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
    if (made.opened != LW_OK) return made;
    made.info.struct_size = sizeof made.info;
    REQUIRE(lw_model_get_info(model, &made.info) == LW_OK);
    lw_stream *stream = nullptr;
    lw_runner *runner = nullptr;
    made.stream = lw_stream_create(model, &f32_stream, &stream);
    lw_stream_destroy(stream);
    made.runner = lw_runner_create(model, &f32_runner, &runner);
    lw_runner_destroy(runner);
    lw_model_close(model);
    return made;
}

} // namespace

TEST_CASE("vulkan: under any limit, host and device together never take more than memory_limit") {
    if (!has_device()) return;
    for (const Draft &draft : {gpu_model(), mixed_model(), gpu_stream_model()}) {
        const std::vector<uint8_t> bytes = draft.bytes();
        const Device device;
        const Metered metered;
        const Made free = make_all(bytes, device, UINT64_MAX);
        REQUIRE_MESSAGE(free.opened == LW_OK, lw_last_error());
        CHECK(now == 0);
        const uint64_t all =
            free.info.memory_bytes + std::max(free.info.stream_memory_bytes, free.info.run_memory_bytes);
        CHECK(static_cast<int64_t>(all) >= most);
        uint64_t refused = 0;
        for (uint64_t limit = 1; limit < all + 4096; limit += 1 + all / 64) {
            CAPTURE(limit);
            now = most = 0;
            const Made made = make_all(bytes, device, limit);
            CHECK((made.opened == LW_OK || made.opened == LW_NO_MEMORY));
            CHECK(most <= static_cast<int64_t>(limit));
            CHECK(now == 0);
            refused += made.opened == LW_NO_MEMORY;
        }
        CHECK(refused > 50);
        now = most = 0;
        const Made last = make_all(bytes, device, all + (64 << 10)); // and what opening needs in passing
        CHECK(last.opened == LW_OK);
        CHECK(last.stream == free.stream);
        CHECK(last.runner == free.runner);
    }
}

TEST_CASE("vulkan: the memory of a stream on a GPU is that of its place on the device, not of its handle") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
    const Device device;
    const Metered metered;
    const lw_open_options options = limited(device, UINT64_MAX);
    lw_model *model = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    const int64_t before = now;
    lw_stream *stream = nullptr;
    REQUIRE(lw_stream_create(model, &f32_stream, &stream) == LW_OK);
    CHECK(static_cast<int64_t>(info.stream_memory_bytes) == now - before);
    lw_stream_destroy(stream);
    lw_model_close(model);
}

} // namespace memory_test
