// Several stream entries over one state: any of them carries on where another stopped.
#include "longwave/longwave.h"
#include "runtime/stream/memory.h"
#include "tests/support/session.h"
#include "tests/support/tiny_family.h"
#include <cstring>
#include <doctest/doctest.h>
#include <functional>
#include <random>

namespace family_test {

using namespace longwave::test;
using longwave::runtime::StreamState;

namespace {

const std::vector<uint32_t> blocks = {16, 1, 2, 4, 8, 24, 48, 32, 96};

// What a stream of the default entry gives for x, and the number of values a row has.
struct Expected {
    Rows rows;
    std::map<uint32_t, uint32_t> widths = {{0, 1}, {1, 1}, {2, 3}};

    Expected(const lw_model *model, const std::vector<float> &x)
        : rows(stream_in_cuts(model, x, {x.size()})) {}

    // Pulls all that waits; each value as expected, and the last row of each output in `last`.
    void pull(lw_stream *stream, std::map<uint32_t, uint64_t> *last) {
        lw_stream_row out{};
        out.struct_size = sizeof out;
        lw_status status;
        while ((status = lw_stream_pull(stream, &out)) == LW_OK) {
            REQUIRE(out.width == widths[out.index]);
            REQUIRE((out.row + 1) * out.width <= rows[out.index].size());
            for (uint32_t i = 0; i < out.width; ++i)
                REQUIRE(out.data[i] == rows[out.index][out.row * out.width + i]);
            const auto before = last->find(out.index);
            if (before != last->end()) REQUIRE(out.row > before->second);
            (*last)[out.index] = out.row;
        }
        REQUIRE((status == LW_AGAIN || status == LW_END));
    }
};

void push(lw_stream *stream, const float *x, size_t n, const std::function<void()> &when_full) {
    for (size_t done = 0; done < n;) {
        size_t taken = 0;
        REQUIRE(lw_stream_push(stream, x + done, n - done, &taken) == LW_OK);
        done += taken;
        if (done < n) when_full();
    }
}

// A walk through entries: pushes, prefills, pulls, saved and loaded, copied. Every row that comes
// out is as expected, and none is left out but by a prefill. Returns the saved state at its end.
std::vector<uint8_t> walk(const lw_model *model, uint32_t entries, const std::vector<float> &x,
                          uint32_t seed) {
    std::mt19937 random(seed);
    Expected expected(model, x);
    std::map<uint32_t, uint64_t> last;
    auto stream = std::make_unique<Stream>(model, LW_F32, 0, random() % entries, random() % 2);
    bool dropped = false;
    const auto pull = [&] {
        auto before = last;
        expected.pull(*stream, &last);
        for (auto [output, row] : last)
            if (before.count(output) && !dropped) CHECK(row >= before[output]);
        dropped = false;
    };
    for (size_t done = 0; done < x.size();) {
        const size_t n = std::min<size_t>(random() % (random() % 4 == 0 ? 300 : 40), x.size() - done);
        switch (random() % 8) {
        case 0: { // read ahead
            REQUIRE(lw_stream_prefill(*stream, x.data() + done, n) == LW_OK);
            done += n;
            dropped = true;
            break;
        }
        case 1: { // into another entry, by bytes
            auto other = std::make_unique<Stream>(model, LW_F32, 400, random() % entries, random() % 2);
            const std::vector<uint8_t> bytes = save(*stream);
            REQUIRE(lw_stream_load(*other, bytes.data(), bytes.size()) == LW_OK);
            CHECK(save(*other) == bytes);
            stream = std::move(other);
            break;
        }
        case 2: { // by copy, over a stream that has been elsewhere
            auto other = std::make_unique<Stream>(model, LW_F32, 400, random() % entries, random() % 2);
            const std::vector<float> noise_before = noise(random() % 100, seed);
            REQUIRE(lw_stream_prefill(*other, noise_before.data(), noise_before.size()) == LW_OK);
            REQUIRE(lw_stream_copy(*other, *stream) == LW_OK);
            stream = std::move(other);
            break;
        }
        default: push(*stream, x.data() + done, n, pull); done += n;
        }
        if (random() % 2) pull();
    }
    pull();
    const std::vector<uint8_t> bytes = save(*stream);
    REQUIRE(lw_stream_finish(*stream) == LW_OK);
    pull();
    for (uint32_t output : {0u, 1u, 2u})
        if (const size_t rows = expected.rows[output].size() / expected.widths[output])
            CHECK(last[output] == rows - 1);
    return bytes;
}

StreamState head_of(const std::vector<uint8_t> &bytes) {
    StreamState head;
    memcpy(&head, bytes.data(), sizeof head);
    return head;
}

std::vector<uint8_t> after(const lw_model *model, uint32_t entry, const std::vector<float> &x) {
    Stream stream(model, LW_F32, 1000, entry);
    push(stream, x.data(), x.size(), [] { FAIL("the queue is long enough"); });
    return save(stream);
}

} // namespace

TEST_CASE("family: every entry gives the rows of every other") {
    for (const bool cached : {false, true}) {
        const Model model(blocks_model({blocks, cached ? blocks : std::vector<uint32_t>{}}));
        const std::vector<float> x = noise(1003);
        Expected expected(model, x);
        for (uint32_t e = 0; e < blocks.size(); ++e) {
            Stream stream(model, LW_F32, 0, e);
            std::map<uint32_t, uint64_t> last;
            push(stream, x.data(), x.size(), [&] { expected.pull(stream, &last); });
            REQUIRE(lw_stream_finish(stream) == LW_OK);
            expected.pull(stream, &last);
            CHECK(last[0] == 1002);
            CHECK(last[1] == 1002);
            CHECK(last[2] == 1003 / 8 - 1);
        }
    }
}

TEST_CASE("family: random walks through the entries give the rows of one, and the same walk the same bits") {
    const std::vector<std::vector<uint32_t>> caches = {{}, blocks, {16, 48, 96}, {24, 32}};
    for (const auto &cached : caches) {
        const Model model(blocks_model({blocks, cached}));
        const uint32_t entries = static_cast<uint32_t>(blocks.size());
        for (uint32_t seed = 1; seed <= 60; ++seed) {
            const std::vector<float> x = noise(500 + seed * 7, seed);
            CHECK(walk(model, entries, x, seed) == walk(model, entries, x, seed));
        }
    }
}

TEST_CASE("family: with a delay the start-up is dropped once, whoever runs it") {
    const Model model(blocks_model({{4, 1, 8, 48}, {8}, 13}));
    for (uint32_t seed = 1; seed <= 40; ++seed) walk(model, 4, noise(300, seed), seed);
}

TEST_CASE("family: a step of a cache that fires within a longer period is replayed for the firings that lie "
          "behind") {
    const std::vector<uint32_t> entries = {16, 1, 2, 8, 4};
    const Model model(marks_model(entries));
    const std::vector<float> x(2000);
    std::mt19937 random(4);
    for (int round = 0; round < 100; ++round) {
        auto stream = std::make_unique<Stream>(model, LW_F32, 0, random() % 5);
        uint64_t next = 0;
        for (size_t done = 0; done < x.size();) {
            const size_t n = std::min<size_t>(random() % 90, x.size() - done);
            push(*stream, x.data() + done, n, [] { FAIL("64 rows have room"); });
            done += n;
            lw_stream_row out{};
            out.struct_size = sizeof out;
            while (lw_stream_pull(*stream, &out) == LW_OK) {
                CHECK(out.row == next);
                CHECK(out.data[0] == static_cast<float>(48 * next++ + 16));
            }
            if (random() % 3) continue;
            const std::vector<uint8_t> bytes = save(*stream);
            stream = std::make_unique<Stream>(model, LW_F32, 0, random() % 5);
            REQUIRE(lw_stream_load(*stream, bytes.data(), bytes.size()) == LW_OK);
        }
        CHECK(next == 2000 / 48);
    }
}

TEST_CASE(
    "family: which entry runs follows from options and tick, so cuts change no bit after a load either") {
    const Model model(blocks_model({blocks, {24, 8}}));
    const std::vector<uint8_t> bytes = after(model, 1, noise(130, 3));
    const std::vector<float> x = noise(400, 5);
    for (uint32_t e = 0; e < blocks.size(); ++e) {
        std::vector<uint8_t> expected;
        for (const size_t cut : {400, 1, 3, 50}) {
            Stream stream(model, LW_F32, 2000, e);
            REQUIRE(lw_stream_load(stream, bytes.data(), bytes.size()) == LW_OK);
            for (size_t done = 0; done < x.size(); done += cut)
                push(stream, x.data() + done, std::min(cut, x.size() - done),
                     [] { FAIL("the queue is long enough"); });
            if (cut == 400) expected = save(stream);
            else CHECK(save(stream) == expected);
        }
    }
}

TEST_CASE("family: input that waits in a saved state is run by whoever loads it") {
    const Model model(blocks_model({blocks, {}}));
    const std::vector<float> x = noise(96 + 95, 2);
    const std::vector<uint8_t> bytes = after(model, 8, x); // a block of 96, and 95 ticks that wait
    CHECK(head_of(bytes).pending == 95);
    Expected expected(model, x);
    for (uint32_t e = 0; e < blocks.size(); ++e) {
        Stream stream(model, LW_F32, 600, e);
        REQUIRE(lw_stream_load(stream, bytes.data(), bytes.size()) == LW_OK);
        CHECK(save(stream) == bytes); // nothing runs in load
        std::map<uint32_t, uint64_t> last;
        expected.pull(stream, &last);
        CHECK(last[0] == 191 / blocks[e] * blocks[e] - 1);
        REQUIRE(lw_stream_finish(stream) == LW_OK);
        expected.pull(stream, &last);
        CHECK(last[0] == 190);
    }
}

TEST_CASE("family: a queue that fills up while a loaded stream catches up loses nothing") {
    const Model model(blocks_model({blocks, blocks}));
    const std::vector<float> x = noise(500, 2);
    Expected expected(model, x);
    const std::vector<uint8_t> bytes = after(model, 8, {x.begin(), x.begin() + 190});
    Stream stream(model, LW_F32, 1, 6); // made as long as the largest block of all entries needs
    std::map<uint32_t, uint64_t> last;
    REQUIRE(lw_stream_load(stream, bytes.data(), bytes.size()) == LW_OK);
    push(stream, x.data() + 190, 310, [&] { expected.pull(stream, &last); });
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    expected.pull(stream, &last);
    CHECK(last[0] == 499);
}

TEST_CASE("family: prefill ends with the own entry and keeps the rows of its last block") {
    const Model model(blocks_model({blocks, blocks}));
    const std::vector<float> x = noise(1000, 8);
    Expected expected(model, x);
    for (uint32_t e = 0; e < blocks.size(); ++e)
        for (const size_t before : {0, 1, 7, 50})
            for (const size_t n : {1, 5, 47, 48, 200, 900}) {
                Stream stream(model, LW_F32, 1000, e);
                const std::vector<uint8_t> start =
                    after(model, 1, {x.begin(), x.begin() + static_cast<long>(before)});
                REQUIRE(lw_stream_load(stream, start.data(), start.size()) == LW_OK);
                REQUIRE(lw_stream_prefill(stream, x.data() + before, n) == LW_OK);
                const uint64_t ticks = before + n, block = blocks[e];
                CHECK(stats_of(stream).ticks == ticks);
                lw_stream_row out{};
                out.struct_size = sizeof out;
                std::map<uint32_t, std::vector<uint64_t>> numbers;
                while (lw_stream_pull(stream, &out) == LW_OK) {
                    numbers[out.index].push_back(out.row);
                    for (uint32_t i = 0; i < out.width; ++i)
                        CHECK(out.data[i] == expected.rows[out.index][out.row * out.width + i]);
                }
                const uint64_t end = ticks / block * block;
                if (end < before + block) continue; // the own entry has not been reached
                REQUIRE(numbers[0].size() == block);
                CHECK(numbers[0].front() == end - block);
                CHECK(numbers[1] == numbers[0]);
                if (end / 8 > before / 8) CHECK(numbers[2].back() == end / 8 - 1);
                CHECK(numbers[2].size() <= std::max<uint64_t>(1, block / 8));
            }
}

TEST_CASE("family: caches are filled by load, copy and prefill, and never by push") {
    Draft draft = blocks_model({{4, 1, 8, 48}, {4, 8, 48}});
    const uint16_t failing = static_cast<uint16_t>(draft.plan.kernels.size());
    for (auto &entry : draft.plan.entries) { // a rebuild now fails on a block that begins with more than 1000
        if (entry->rebuild.empty()) continue;
        const uint32_t block = entry->block;
        add_kernel(draft, fuse, "fuse-" + std::to_string(block),
                   {arg(longwave::fb::ArgKind::input, longwave::fb::Elem::f32, {{block, 1}}),
                    arg(longwave::fb::ArgKind::output, longwave::fb::Elem::f32, {{block, 1}})});
        entry->rebuild[0]->kernel = static_cast<uint16_t>(draft.plan.kernels.size() - 1);
        entry->rebuild[0]->args.erase(entry->rebuild[0]->args.begin() + 1);
    }
    CHECK(failing < draft.plan.kernels.size());
    const Model model(draft);
    std::vector<float> x(200, 2000);
    for (uint32_t e : {0u, 2u, 3u}) {
        Stream stream(model, LW_F32, 1000, e), other(model, LW_F32, 1000, e), small(model, LW_F32, 1000, 1);
        push(stream, x.data(), x.size(), [] { FAIL("the queue is long enough"); });
        const std::vector<uint8_t> bytes = save(stream);
        CHECK(lw_stream_copy(other, stream) == LW_OK); // the same entry: its cache is copied
        CHECK(lw_stream_load(small, bytes.data(), bytes.size()) == LW_OK); // without a cache
        CHECK(lw_stream_copy(other, small) == LW_DEVICE);
        CHECK(std::string(lw_last_error()).find("hear") != std::string::npos);
        CHECK(lw_stream_load(other, bytes.data(), bytes.size()) == LW_DEVICE);
        size_t taken = 0;
        CHECK(lw_stream_push(other, x.data(), 1, &taken) == LW_WRONG_STATE);
        REQUIRE(lw_stream_reset(other) == LW_OK);
        CHECK(lw_stream_push(other, x.data(), 100, &taken) == LW_OK);
    }
    Stream stream(model);
    // Two blocks of its own: at tick 0 nothing lies behind.
    CHECK(lw_stream_prefill(stream, x.data(), 8) == LW_OK);
    CHECK(lw_stream_prefill(stream, x.data(), 100) == LW_DEVICE);
}

TEST_CASE("family: a stream without larger blocks has no memory for them") {
    const Model model(blocks_model({blocks, blocks}));
    const auto bytes = [&](uint32_t block, bool no_larger_blocks) {
        lw_stream_options options = LW_STREAM_OPTIONS_INIT;
        options.format = LW_F32;
        options.block = block;
        options.no_larger_blocks = no_larger_blocks;
        size_t size = 0, alignment = 0;
        REQUIRE(lw_stream_size(model, &options, &size, &alignment) == LW_OK);
        return size;
    };
    CHECK(bytes(1, true) < bytes(8, true));
    CHECK(bytes(8, true) < bytes(96, true));
    CHECK(bytes(96, true) == bytes(96, false));
    CHECK(bytes(1, false) == bytes(96, false));
}

TEST_CASE("family: a stream names its entry by the block, and one that is not there is refused") {
    const Model model(blocks_model({{4, 1, 8}, {8}}));
    lw_stream_options options = f32_stream;
    options.block = 2;
    lw_stream *none = nullptr;
    CHECK(lw_stream_create(model, &options, &none) == LW_NOT_FOUND);
    CHECK(std::string(lw_last_error()) == "no stream entry has block 2; the model has blocks 4, 1, 8");
    CHECK(none == nullptr);
    options.block = 8;
    REQUIRE(lw_stream_create(model, &options, &none) == LW_OK);
    size_t taken = 0;
    const std::vector<float> x(20);
    REQUIRE(lw_stream_push(none, x.data(), 20, &taken) == LW_OK);
    CHECK(stats_of(none).blocks == 2);
    lw_stream_destroy(none);
}

} // namespace family_test
