// Vulkan devices: every allocation of ours fails, and every call to the driver within an operation
// of a stream. What a failed operation may not touch goes on as if nothing had happened.
#include "tests/support/failing_allocator.h"
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/device.h"
#include <functional>

namespace vulkan_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// A device, a model and what can be made from it, in memory from the allocator. The first failure.
lw_status life(const std::vector<uint8_t> &bytes, const lw_allocator *allocator, bool streams) {
    lw_vulkan_options options = through_shim();
    options.allocator = allocator;
    lw_device *device = nullptr;
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    lw_stream *made[3] = {};
    lw_status status = lw_vulkan_open(&options, &device);
    if (status == LW_OK) {
        lw_open_options open = on(device);
        open.allocator = allocator;
        status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
    }
    const std::vector<float> x = noise(16);
    Results results;
    if (status == LW_OK && !streams) status = lw_runner_create(model, &f32_runner, &runner);
    if (status == LW_OK && !streams) status = run_audio(runner, x, &results);
    for (lw_stream *&stream : made)
        if (status == LW_OK && streams) status = lw_stream_create(model, &f32_stream, &stream);
    for (lw_stream *stream : made)
        if (status == LW_OK && streams) status = lw_stream_push(stream, x.data(), x.size(), nullptr);
    if (status == LW_OK) status = lw_device_flush(device);
    for (lw_stream *stream : made) lw_stream_destroy(stream);
    lw_runner_destroy(runner);
    lw_model_close(model);
    lw_vulkan_close(device);
    return status;
}

// Two streams of gpu_stream_model on one device.
struct Pair {
    Pair() {
        const std::vector<uint8_t> bytes = gpu_stream_model().bytes();
        const lw_open_options open = on(device);
        REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) == LW_OK);
        REQUIRE(lw_stream_create(model, &f32_stream, &first) == LW_OK);
        REQUIRE(lw_stream_create(model, &f32_stream, &second) == LW_OK);
    }
    ~Pair() {
        lw_stream_destroy(first);
        lw_stream_destroy(second);
        lw_model_close(model);
    }
    Device device;
    lw_model *model = nullptr;
    lw_stream *first = nullptr, *second = nullptr;
};

const std::vector<float> x = noise(30);

// Both new, the first with x up to the tick 13: rows wait, and so does a part of a block.
void begin(const Pair &pair, Rows *rows) {
    VulkanShim::reset();
    rows->clear();
    REQUIRE(lw_stream_reset(pair.first) == LW_OK);
    REQUIRE(lw_stream_reset(pair.second) == LW_OK);
    push_all(pair.first, {x.begin(), x.begin() + 13}, rows);
    REQUIRE(lw_device_flush(pair.device) == LW_OK);
}

Rows rest(lw_stream *stream, const Rows &before, size_t from) {
    Rows rows = before;
    push_all(stream, {x.begin() + static_cast<ptrdiff_t>(from), x.end()}, &rows);
    return rows;
}

// The operation with each of its calls failing. after(k, status) looks at what is left, without
// faults.
using Operation = std::function<lw_status(const Pair &)>;
void fail_each_call(const Pair &pair, const Operation &operation,
                    const std::function<void(lw_status, const Rows &)> &after) {
    Rows rows;
    begin(pair, &rows);
    VulkanShim::reset();
    REQUIRE(operation(pair) == LW_OK);
    const uint64_t calls = VulkanShim::calls();
    CHECK(calls > 2);
    for (const VkResult result :
         {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_UNKNOWN})
        for (uint64_t k = 1; k <= calls; ++k) {
            begin(pair, &rows);
            VulkanShim::fail(k, result);
            const lw_status status = operation(pair);
            const std::string name = VulkanShim::failed_name();
            VulkanShim::reset();
            CAPTURE(name);
            CAPTURE(k);
            CHECK((status == LW_NO_MEMORY || status == LW_DEVICE));
            after(status, rows);
        }
}

} // namespace

TEST_CASE("vulkan faults: every allocation of a device, its models, runs and streams") {
    if (!has_device()) return;
    for (const bool streams : {false, true}) {
        const std::vector<uint8_t> bytes = (streams ? gpu_stream_model() : gpu_model()).bytes();
        const int64_t alive = VulkanShim::alive();
        VulkanShim::reset();
        FailingAllocator counting;
        REQUIRE(life(bytes, &counting.allocator, streams) == LW_OK);
        CHECK(counting.live.empty());
        CHECK(counting.calls > 5);
        for (const bool for_good : {false, true})
            for (long k = 0; k < counting.calls; ++k) {
                FailingAllocator hooks;
                hooks.fail_at = k;
                hooks.for_good = for_good;
                CAPTURE(streams);
                CAPTURE(k);
                CHECK(life(bytes, &hooks.allocator, streams) == LW_NO_MEMORY);
                CHECK(hooks.live.empty());
                CHECK(VulkanShim::alive() == alive);
            }
    }
}

TEST_CASE("vulkan faults: a stream whose state could not be saved goes on") {
    if (!has_device()) return;
    const Pair pair;
    Rows rows;
    begin(pair, &rows);
    const Rows good = rest(pair.first, rows, 13);
    fail_each_call(
        pair,
        [](const Pair &p) {
            uint8_t state[1024];
            size_t n = 0;
            return lw_stream_save(p.first, state, sizeof state, &n);
        },
        [&](lw_status, const Rows &before) { CHECK(rest(pair.first, before, 13) == good); });
}

TEST_CASE("vulkan faults: a stream that could not be copied goes on, and the other one copies again") {
    if (!has_device()) return;
    const Pair pair;
    Rows rows;
    begin(pair, &rows);
    const Rows good = rest(pair.first, rows, 13);
    fail_each_call(
        pair, [](const Pair &p) { return lw_stream_copy(p.second, p.first); },
        [&](lw_status, const Rows &before) {
            REQUIRE(lw_stream_copy(pair.second, pair.first) == LW_OK);
            CHECK(rest(pair.first, before, 13) == good);
            CHECK(rest(pair.second, before, 13) == good);
        });
}

TEST_CASE("vulkan faults: a state that could not be loaded loads again, and a failed reset resets again") {
    if (!has_device()) return;
    const Pair pair;
    Rows rows;
    begin(pair, &rows);
    uint8_t state[1024];
    size_t n = 0;
    REQUIRE(lw_stream_save(pair.first, state, sizeof state, &n) == LW_OK);
    const Rows good = rest(pair.first, rows, 13);
    fail_each_call(
        pair, [&](const Pair &p) { return lw_stream_load(p.second, state, n); },
        [&](lw_status, const Rows &before) {
            REQUIRE(lw_stream_load(pair.second, state, n) == LW_OK);
            CHECK(rest(pair.second, before, 13) == good);
            CHECK(rest(pair.first, before, 13) == good);
        });
    fail_each_call(
        pair, [](const Pair &p) { return lw_stream_reset(p.first); },
        [&](lw_status, const Rows &) {
            REQUIRE(lw_stream_reset(pair.first) == LW_OK);
            CHECK(rest(pair.first, {}, 0) == good);
        });
}

TEST_CASE(
    "vulkan faults: a stream whose block failed takes nothing before it is reset, and the other goes on") {
    if (!has_device()) return;
    const Pair pair;
    Rows rows;
    begin(pair, &rows);
    const Rows good = rest(pair.first, rows, 13);
    fail_each_call(
        pair,
        [](const Pair &p) {
            const lw_status status = lw_stream_push(p.first, x.data() + 13, 10, nullptr);
            const lw_status flushed = lw_device_flush(p.device);
            return status ? status : flushed;
        },
        [&](lw_status, const Rows &) {
            lw_stream_row out{};
            out.struct_size = sizeof out;
            lw_status status = lw_stream_push(pair.first, x.data() + 23, 7, nullptr);
            while (status == LW_OK) status = lw_stream_pull(pair.first, &out);
            CHECK((status == LW_WRONG_STATE || status == LW_NO_MEMORY || status == LW_DEVICE));
            CHECK(rest(pair.second, {}, 0) == good);
            REQUIRE(lw_stream_reset(pair.first) == LW_OK);
            CHECK(rest(pair.first, {}, 0) == good);
        });
}

} // namespace vulkan_test
