// Two blocks of a stream in flight: lw_device_submit returns while the device works.
#include "tests/support/options.h"
#include "tests/unit/runtime/vulkan/device.h"
#include <memory>
#include <thread>

namespace in_flight_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t block = 4; // ticks of the model, which gives a row for each

struct Opened : OpenedModel {
    Opened() : OpenedModel(gpu_stream_model().bytes()) {}
    void submit() const { REQUIRE(lw_device_submit(device) == LW_OK); }
    void flush() const { REQUIRE(lw_device_flush(device) == LW_OK); }
};

void push(lw_stream *stream, const float *x, size_t ticks = block) {
    size_t taken = 0;
    REQUIRE(lw_stream_push(stream, x, ticks, &taken) == LW_OK);
    REQUIRE(taken == ticks);
}

// The rows that one block after the other gives.
Rows one_by_one(const Opened &opened, const std::vector<float> &x) {
    Stream stream(opened.model);
    Rows rows;
    for (size_t at = 0; at < x.size(); at += block) {
        push(stream, x.data() + at);
        opened.flush();
        pull_all(stream, &rows);
    }
    return rows;
}

// A stream with its first two blocks in flight.
struct InFlight {
    const Opened &opened;
    const std::vector<float> x = noise(6 * block);
    const Rows expected = one_by_one(opened, x);
    Stream stream{opened.model};
    Rows rows;
    explicit InFlight(const Opened &with) : opened(with) {
        for (size_t b = 0; b < 2; ++b) {
            push(stream, x.data() + b * block);
            opened.submit();
        }
    }
    void rest(lw_stream *of, size_t from = 2) {
        push_all(of, {x.begin() + static_cast<ptrdiff_t>(from * block), x.end()}, &rows);
        pull_all(of, &rows);
        CHECK(rows == expected);
    }
};

} // namespace

TEST_CASE("vulkan streams in flight: a submission does not wait, and pull gives the rows before the next") {
    if (!has_device()) return;
    const Opened opened;
    const std::vector<float> x = noise(9 * block);
    const Rows expected = one_by_one(opened, x);
    Stream stream(opened.model);
    Rows rows;
    for (size_t b = 0; b < 9; ++b) {
        push(stream, x.data() + b * block);
        VulkanShim::fail_named("vkWaitForFences", VK_TIMEOUT);
        CHECK(lw_device_submit(opened.device) == LW_OK); // it would fail if it waited
        VulkanShim::reset();
        pull_all(stream, &rows);
        CHECK(rows[0].size() == b * block);
    }
    opened.flush();
    pull_all(stream, &rows);
    CHECK(rows == expected);
}

TEST_CASE("vulkan streams in flight: a long push keeps two blocks in flight and records each once") {
    if (!has_device()) return;
    const Opened opened;
    const std::vector<float> x = noise(12 * block);
    const Rows expected = one_by_one(opened, x);
    Stream stream(opened.model);
    Rows rows;
    const uint64_t before = opened.device.stats().recordings;
    push(stream, x.data(), x.size());
    pull_all(stream, &rows);
    CHECK(rows == expected);
    CHECK(opened.device.stats().recordings - before == 2);
}

TEST_CASE("vulkan streams in flight: pools grow around blocks, and streams come and go") {
    if (!has_device()) return;
    const Opened opened;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::vector<float>> x;
    std::vector<Rows> rows;
    std::vector<size_t> pushed; // ticks
    for (uint32_t round = 0; round < 8; ++round) {
        for (uint32_t more = 0; more <= round % 4; ++more) {
            streams.push_back(std::make_unique<Stream>(opened.model));
            x.push_back(noise(8 * block, round * 10 + more));
            rows.emplace_back();
            pushed.push_back(0);
        }
        for (size_t s = 0; s < streams.size(); ++s) {
            if ((round + s) % 3 == 0) continue; // some have no block this time
            push(*streams[s], x[s].data() + pushed[s]);
            pushed[s] += block;
        }
        opened.submit();
        for (size_t s = 0; s < streams.size(); ++s) pull_all(*streams[s], &rows[s]);
        if (round % 3 != 2) continue;
        streams.erase(streams.begin()); // with a block in flight
        x.erase(x.begin());
        rows.erase(rows.begin());
        pushed.erase(pushed.begin());
    }
    opened.flush();
    for (size_t s = 0; s < streams.size(); ++s) {
        pull_all(*streams[s], &rows[s]);
        x[s].resize(pushed[s]);
        CHECK(rows[s][0] == one_by_one(opened, x[s])[0]);
    }
}

TEST_CASE("vulkan streams in flight: finish, save, copy, load, reset and prefill wait for them") {
    if (!has_device()) return;
    const Opened opened;
    SUBCASE("finish") {
        InFlight pair(opened);
        CHECK(lw_stream_finish(pair.stream) == LW_OK);
        pull_all(pair.stream, &pair.rows);
        CHECK(pair.rows[0].size() >= 2 * block);
        for (size_t i = 0; i < 2 * block; ++i) CHECK(pair.rows[0][i] == pair.expected.at(0)[i]);
    }
    SUBCASE("save and load") {
        InFlight pair(opened);
        const std::vector<uint8_t> state = save(pair.stream);
        Stream other(opened.model);
        push(other, pair.x.data() + 3 * block);
        opened.submit(); // forgotten by the load
        REQUIRE(lw_stream_load(other, state.data(), state.size()) == LW_OK);
        pair.rest(other);
    }
    SUBCASE("copy") {
        InFlight pair(opened);
        Stream other(opened.model);
        push(other, pair.x.data() + 3 * block);
        opened.submit();
        REQUIRE(lw_stream_copy(other, pair.stream) == LW_OK);
        pair.rest(other);
        pair.rows.clear();
        pair.rest(pair.stream);
    }
    SUBCASE("reset") {
        InFlight pair(opened);
        REQUIRE(lw_stream_reset(pair.stream) == LW_OK);
        pair.rest(pair.stream, 0);
    }
    SUBCASE("prefill") {
        InFlight pair(opened);
        REQUIRE(lw_stream_prefill(pair.stream, pair.x.data() + 2 * block, 2 * block) == LW_OK);
        lw_stream_row out{}; // it leaves the rows of the last block alone
        out.struct_size = sizeof out;
        for (size_t row = 3 * block; row < 4 * block; ++row) {
            REQUIRE(lw_stream_pull(pair.stream, &out) == LW_OK);
            CHECK(out.row == row);
            CHECK(out.data[0] == pair.expected.at(0)[row]);
        }
    }
    SUBCASE("destroy") {
        const int64_t before = VulkanShim::alive();
        {
            const InFlight pair(opened);
        }
        CHECK(VulkanShim::alive() == before);
    }
}

TEST_CASE("vulkan streams in flight: rows that nobody pulls take the room of blocks, and none is lost") {
    if (!has_device()) return;
    const Opened opened;
    const std::vector<float> x = noise(4 * block);
    const Rows expected = one_by_one(opened, x);
    lw_stream_options options = f32_stream;
    options.queue = 1; // it is made large enough for two
    lw_stream *stream = nullptr;
    REQUIRE(lw_stream_create(opened.model, &options, &stream) == LW_OK);
    Rows rows;
    size_t pushed = 0;
    for (size_t round = 0; round < 40 && rows[0].size() < x.size(); ++round) {
        size_t taken = 0;
        REQUIRE(lw_stream_push(stream, x.data() + pushed, std::min(block, x.size() - pushed), &taken) ==
                LW_OK);
        pushed += taken;
        opened.submit();
        if (round % 2) pull_all(stream, &rows);
    }
    opened.flush();
    pull_all(stream, &rows);
    CHECK(pushed == x.size());
    CHECK(rows == expected);
    lw_stream_destroy(stream);
}

TEST_CASE("vulkan streams in flight: a failure is reported, and reset begins anew") {
    if (!has_device()) return;
    const Opened opened;
    for (const bool flush : {true, false}) {
        InFlight pair(opened);
        VulkanShim::fail_named("vkWaitForFences", VK_TIMEOUT);
        lw_stream_row out{};
        out.struct_size = sizeof out;
        CHECK((flush ? lw_device_flush(opened.device) : lw_stream_pull(pair.stream, &out)) == LW_TIMEOUT);
        VulkanShim::reset();
        CHECK(lw_stream_push(pair.stream, pair.x.data(), block, nullptr) == LW_WRONG_STATE);
        CHECK(lw_stream_pull(pair.stream, &out) == LW_WRONG_STATE);
        REQUIRE(lw_stream_reset(pair.stream) == LW_OK);
        pair.rest(pair.stream, 0);
    }
}

TEST_CASE("vulkan streams in flight: another thread goes on after a flush, and destroys without one") {
    if (!has_device()) return;
    const Opened opened;
    InFlight pair(opened);
    opened.flush();
    std::thread([&] { pair.rest(pair.stream); }).join();
    const int64_t before = VulkanShim::alive();
    lw_stream *stream = nullptr;
    std::thread([&] {
        if (lw_stream_create(opened.model, &f32_stream, &stream) != LW_OK) return;
        (void)lw_stream_push(stream, pair.x.data(), block, nullptr);
        (void)lw_device_submit(opened.device);
    }).join();
    REQUIRE(stream != nullptr);
    lw_stream_destroy(stream);
    CHECK(VulkanShim::alive() == before);
}

TEST_CASE("vulkan streams in flight: without a device a submission does nothing") {
    CHECK(lw_device_submit(nullptr) == LW_OK);
}

} // namespace in_flight_test
