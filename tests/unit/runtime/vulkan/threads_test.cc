// Several threads drive the streams of one Vulkan device at the same time.
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/device.h"
#include <thread>

namespace threads_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t n_threads = 4, streams_of_thread = 3, rounds = 12, ticks_per_round = 8;

std::vector<float> input_of(size_t thread, size_t stream) {
    return noise(rounds * ticks_per_round, static_cast<uint32_t>(1 + thread * streams_of_thread + stream));
}

// Threads report failures by number: doctest's macros are for one thread.
struct Driver {
    const lw_model *model;
    lw_device *device;
    size_t thread;
    std::vector<Rows> rows{streams_of_thread};
    size_t failures = 0;

    void pull(lw_stream *stream, Rows *to) {
        lw_stream_row out{};
        out.struct_size = sizeof out;
        lw_status status;
        while ((status = lw_stream_pull(stream, &out)) == LW_OK)
            (*to)[out.index].insert((*to)[out.index].end(), out.data, out.data + out.width);
        failures += status != LW_AGAIN;
    }
    // Every stream gets its input in rounds with a flush in between. From round to round another
    // one is new.
    void drive() {
        lw_stream *streams[streams_of_thread] = {};
        for (size_t round = 0; round < rounds; ++round) {
            for (size_t s = 0; s < streams_of_thread; ++s) {
                if (s > round) continue; // pools grow while other threads run
                if (!streams[s] && lw_stream_create(model, &f32_stream, &streams[s]) != LW_OK) {
                    ++failures;
                    return;
                }
                const std::vector<float> x = input_of(thread, s);
                failures += lw_stream_push(streams[s], x.data() + round * ticks_per_round, ticks_per_round,
                                           nullptr) != LW_OK;
            }
            failures += lw_device_flush(device) != LW_OK;
            for (size_t s = 0; s < streams_of_thread; ++s)
                if (streams[s]) pull(streams[s], &rows[s]);
        }
        for (lw_stream *stream : streams) lw_stream_destroy(stream);
    }
};

std::vector<Driver> drivers(const lw_model *model, lw_device *device) {
    std::vector<Driver> all;
    for (size_t t = 0; t < n_threads; ++t) {
        all.push_back({model, device, t});
    }
    return all;
}

struct Opened : OpenedModel {
    Opened() : OpenedModel(gpu_stream_model().bytes()) {}
};

} // namespace

TEST_CASE("vulkan threads: four threads with streams of one device give the bits of one thread") {
    if (!has_device()) return;
    Opened opened;
    std::vector<Driver> alone = drivers(opened.model, opened.device);
    for (Driver &driver : alone) driver.drive();
    std::vector<Driver> together = drivers(opened.model, opened.device);
    std::vector<std::thread> threads;
    for (Driver &driver : together) threads.emplace_back([&driver] { driver.drive(); });
    for (std::thread &thread : threads) thread.join();
    for (size_t t = 0; t < n_threads; ++t) {
        CHECK(alone[t].failures == 0);
        CHECK(together[t].failures == 0);
        for (size_t s = 0; s < streams_of_thread; ++s) {
            CHECK(alone[t].rows[s][0].size() == (rounds - s) * ticks_per_round);
            CHECK(alone[t].rows[s] == together[t].rows[s]);
        }
    }
}

TEST_CASE("vulkan threads: a flush runs the blocks of its own thread and leaves those of others") {
    if (!has_device()) return;
    Opened opened;
    const std::vector<float> x = noise(4);
    Stream here(opened.model);
    REQUIRE(lw_stream_push(here, x.data(), 4, nullptr) == LW_OK);
    const uint64_t before = opened.device.stats().runs;
    lw_status other = LW_OK;
    std::thread([&] { other = lw_device_flush(opened.device); }).join();
    CHECK(other == LW_OK);
    CHECK(opened.device.stats().runs == before);
    CHECK(lw_device_flush(opened.device) == LW_OK);
    CHECK(opened.device.stats().runs == before + 1);
}

TEST_CASE("vulkan threads: a stream goes from thread to thread, with a block that waits too") {
    if (!has_device()) return;
    Opened opened;
    const std::vector<float> x = noise(24);
    Rows expected, rows;
    {
        Stream one(opened.model);
        push_all(one, x, &expected);
        pull_all(one, &expected);
    }
    lw_stream *stream = nullptr;
    lw_status status[3] = {};
    std::thread([&] { // ends with a whole block that nobody has flushed
        status[0] = lw_stream_create(opened.model, &f32_stream, &stream);
        status[1] = lw_stream_push(stream, x.data(), 8, nullptr);
    })
        .join();
    std::thread([&] { status[2] = lw_stream_push(stream, x.data() + 8, 8, nullptr); }).join();
    for (lw_status each : status) REQUIRE(each == LW_OK);
    push_all(stream, {x.begin() + 16, x.end()}, &rows);
    pull_all(stream, &rows);
    CHECK(rows == expected);
    Stream copy(opened.model); // of another scheduler
    CHECK(lw_stream_copy(copy, stream) == LW_OK);
    CHECK(save(copy) == save(stream));
    lw_stream_destroy(stream);
}

TEST_CASE("vulkan threads: the stream of a thread that is gone leaves nothing behind") {
    if (!has_device()) return;
    Opened opened;
    const std::vector<float> x = noise(4);
    for (int i = 0; i < 8; ++i) {
        lw_stream *stream = nullptr;
        lw_status pushed = LW_OK;
        std::thread([&] {
            if (lw_stream_create(opened.model, &f32_stream, &stream) == LW_OK)
                pushed = lw_stream_push(stream, x.data(), 4, nullptr);
        }).join();
        REQUIRE(stream != nullptr);
        CHECK(pushed == LW_OK);
        lw_stream_destroy(stream);
    }
    CHECK(lw_device_flush(opened.device) == LW_OK);
    Stream after(opened.model);
    Rows rows;
    push_all(after, x, &rows);
    pull_all(after, &rows);
    CHECK(rows[0].size() == 4);
}

} // namespace threads_test
