// A stream equals the whole, however its input is cut; its rows come when they should and are
// numbered as they should be.
#include "longwave/longwave.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include <cmath>
#include <doctest/doctest.h>
#include <random>

namespace stream_test {

using namespace longwave::test;

namespace {

// The definition, in the kernel's order of additions.
std::vector<float> fir_reference(const std::vector<float> &x) {
    const float weights[audio_taps] = {0.5f, -0.25f, 0.75f, 1.0f, 0.125f, -0.5f, 0.3f, 0.2f, 0.9f};
    std::vector<float> y(x.size());
    for (size_t t = 0; t < x.size(); ++t)
        for (size_t k = 0; k < audio_taps && k <= t; ++k) y[t] += weights[k] * weights[k] * x[t - k];
    return y;
}

std::vector<float> numbers(const lw_model *model, size_t ticks) {
    Rows rows = stream_in_cuts(model, std::vector<float>(ticks), {ticks});
    return rows[0];
}

} // namespace

TEST_CASE("stream: equals the whole-sequence run bit for bit") {
    const Model model(audio_model());
    for (size_t n : {1, 3, 4, 7, 8, 50, 63, 64}) {
        const std::vector<float> x = noise(n, static_cast<uint32_t>(n));
        const Rows whole = run(model, x);
        Rows streamed = stream_in_cuts(model, x, {n});
        CHECK(streamed[0].size() == n);
        CHECK(streamed[0] == whole.at(0));
        CHECK(streamed[1].size() == n / 8 * 3);
    }
}

TEST_CASE("stream: rows are what the definition says") {
    const Model model(audio_model());
    const std::vector<float> x = noise(64);
    Rows rows = stream_in_cuts(model, x, {64});
    const std::vector<float> y = fir_reference(x);
    double sum = 0;
    for (size_t t = 0; t < 64; ++t) {
        CHECK(rows[0][t] == doctest::Approx(y[t]).epsilon(1e-5));
        sum += rows[0][t];
        if (t % 8 == 7)
            for (size_t j = 0; j < 3; ++j)
                CHECK(rows[1][t / 8 * 3 + j] == static_cast<float>(sum) + static_cast<float>(j));
    }
}

TEST_CASE("stream: the output does not depend on how pushes cut the input") {
    const Model model(audio_model());
    const std::vector<float> x = noise(2503);
    const Rows once = stream_in_cuts(model, x, {x.size()});
    CHECK(stream_in_cuts(model, x, {1}) == once);
    CHECK(stream_in_cuts(model, x, {7}) == once);
    CHECK(stream_in_cuts(model, x, {160}) == once);
    CHECK(stream_in_cuts(model, x, {1000}) == once);
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) {
        std::vector<size_t> cuts(1 + random() % 20);
        for (size_t &cut : cuts) cut = 1 + random() % 40;
        CHECK(stream_in_cuts(model, x, cuts) == once);
    }
}

TEST_CASE("stream: a full queue stops push before the block that would not fit, and loses nothing") {
    const Model model(audio_model());
    const std::vector<float> x = noise(100);
    const Rows expected = stream_in_cuts(model, x, {100});
    for (uint32_t queue :
         {1u, 5u, 6u, 7u, 64u}) { // 5 rows come in one block at most: a smaller queue is made that large
        Stream stream(model, LW_F32, queue);
        Rows rows;
        size_t done = 0;
        int stops = 0;
        while (done < x.size()) {
            size_t taken = 0;
            REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
            done += taken;
            if (done < x.size()) {
                ++stops;
                // Nothing is taken again until something is pulled.
                size_t more = 1;
                CHECK(lw_stream_push(stream, x.data() + done, x.size() - done, &more) == LW_OK);
                CHECK(more == 0);
                pull_all(stream, &rows);
            }
        }
        CHECK(stops > 0);
        REQUIRE(lw_stream_finish(stream) == LW_OK);
        pull_all(stream, &rows);
        CHECK(rows == expected);
    }
}

TEST_CASE("stream: a queue of the caller's size holds that many rows") {
    const Model model(audio_model());
    Stream stream(model, LW_F32, 64);
    const std::vector<float> x(1000);
    size_t taken = 0;
    REQUIRE(lw_stream_push(stream, x.data(), x.size(), &taken) == LW_OK);
    // 2 blocks bring 4 + 5 rows: 14 blocks 63 rows; the fifteenth would bring 4 more, so all of it
    // but its last tick is taken.
    CHECK(taken == 14 * 4 + 3);
}

TEST_CASE("stream: finish shows the rows whose input is real, and no others") {
    const Model model(audio_model());
    for (size_t n = 0; n < 20; ++n) {
        Stream stream(model);
        Rows rows;
        push_all(stream, noise(n), &rows);
        REQUIRE(lw_stream_finish(stream) == LW_OK);
        pull_all(stream, &rows);
        CHECK(rows[0].size() == n);
        CHECK(rows[1].size() == n / 8 * 3);
        lw_stream_row out{};
        out.struct_size = sizeof out;
        CHECK(lw_stream_pull(stream, &out) == LW_END);
        CHECK(lw_stream_push(stream, "    ", 1, nullptr) == LW_WRONG_STATE);
        CHECK(lw_stream_finish(stream) == LW_WRONG_STATE);
        lw_stream_stats stats{};
        stats.struct_size = sizeof stats;
        REQUIRE(lw_stream_get_stats(stream, &stats) == LW_OK);
        CHECK(stats.ticks == n);
        // Of y, and of sums where its second block was begun.
        CHECK(stats.rows_dropped == (4 - n % 4) % 4 + (n % 8 > 4 ? 1 : 0));
        REQUIRE(lw_stream_reset(stream) == LW_OK);
        CHECK(lw_stream_pull(stream, &out) == LW_AGAIN);
    }
}

TEST_CASE("stream: finish with a full queue goes on in pull") {
    const Model model(audio_model());
    const std::vector<float> x = noise(7);
    Stream stream(model, LW_F32, 5);
    size_t taken = 0;
    REQUIRE(lw_stream_push(stream, x.data(), 7, &taken) == LW_OK);
    CHECK(taken == 7);
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    Rows rows;
    pull_all(stream, &rows);
    CHECK(rows[0] == stream_in_cuts(model, x, {7})[0]);
}

TEST_CASE("stream: a row says which it is and when its input was complete") {
    const Model model(audio_model());
    Stream stream(model);
    const std::vector<float> x(16);
    REQUIRE(lw_stream_push(stream, x.data(), 16, nullptr) == LW_OK);
    lw_stream_row out{};
    out.struct_size = sizeof out;
    uint64_t next[2] = {0, 0};
    while (lw_stream_pull(stream, &out) == LW_OK) {
        REQUIRE(out.index < 2);
        CHECK(out.row == next[out.index]++);
        CHECK(out.width == (out.index == 0 ? 1u : 3u));
        CHECK(out.end == (out.row + 1) * (out.index == 0 ? 1 : 8));
    }
    CHECK(next[0] == 16);
    CHECK(next[1] == 2);
}

TEST_CASE("stream: steps fire at their period and phase, and scalars follow the firing") {
    // Period 3, phase 2: firings in blocks 2, 5, 8 … are numbered 0, 1, 2 …
    CHECK(numbers(Model(timing_model({.period = 3, .phase = 2})), 10) == std::vector<float>{0, 1, 2});
    CHECK(numbers(Model(timing_model({.block = 4, .period = 2, .phase = 1, .mul = 5, .value = 7})), 25) ==
          std::vector<float>{7, 12, 17});
    CHECK(numbers(Model(timing_model({.modulus = 3, .mul = 10, .add = 2})), 5) ==
          std::vector<float>{20, 0, 10, 20, 0});
}

TEST_CASE("stream: a delay is taken off at the front and flushed at the end") {
    // Two rows late: the rows numbered 0 and 1 by the plan are start-up; row r of the output is
    // number r + 2, and finish runs on for two blocks.
    const Model late(timing_model({.delay = 2}));
    CHECK(numbers(late, 5) == std::vector<float>{2, 3, 4, 5, 6});
    Stream stream(late);
    Rows rows;
    push_all(stream, std::vector<float>(5), &rows);
    pull_all(stream, &rows);
    CHECK(rows[0] == std::vector<float>{2, 3, 4}); // what is exact so far
    lw_stream_row out{};
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    out.struct_size = sizeof out;
    REQUIRE(lw_stream_pull(stream, &out) == LW_OK);
    CHECK(out.row == 3);
    CHECK(out.end == 4 + 2);

    // An output that fires early in its period shows, in each firing, what was complete before: one
    // row of start-up.
    CHECK(numbers(Model(timing_model({.period = 2, .phase = 0})), 7) == std::vector<float>{1, 2, 3});
    // Both at once: block 4, period 2, phase 0, 12 ticks late: (4 + 12)/8 = 2 rows.
    CHECK(numbers(Model(timing_model({.block = 4, .period = 2, .phase = 0, .delay = 12})), 33) ==
          std::vector<float>{2, 3, 4, 5});
}

TEST_CASE("stream: prefill leaves what pushes leave, and keeps the newest rows instead of losing them") {
    const Model model(audio_model());
    const std::vector<float> rest = noise(40, 2);
    for (const size_t n : {0, 3, 4, 6, 8, 11, 12, 1001, 1004}) {
        const std::vector<float> prompt = noise(n, 7);
        Stream pushed(model), filled(model);
        Rows all, expected, rows;
        push_all(filled, noise(8, 3), &rows); // rows that wait before the call are dropped
        push_all(pushed, noise(8, 3), &all);
        push_all(pushed, prompt, &all);
        pull_all(pushed, &all);
        REQUIRE(lw_stream_prefill(filled, prompt.data(), n) == LW_OK);
        lw_stream_row out{};
        out.struct_size = sizeof out;
        std::map<uint32_t, std::vector<uint64_t>> numbers;
        while (lw_stream_pull(filled, &out) == LW_OK) {
            numbers[out.index].push_back(out.row);
            for (uint32_t i = 0; i < out.width; ++i)
                CHECK(out.data[i] == all[out.index][out.row * out.width + i]);
        }
        // The last block brought four rows of y; of the sums it brought one or none, and then the
        // one before is kept.
        const uint64_t blocks = n / 4, ticks = 8 + blocks * 4;
        if (blocks == 0) CHECK(numbers.empty());
        else CHECK(numbers[0] == std::vector<uint64_t>{ticks - 4, ticks - 3, ticks - 2, ticks - 1});
        if (blocks >= 2) CHECK(numbers[1] == std::vector<uint64_t>{ticks / 8 - 1});
        CHECK(save(pushed) == save(filled));
        push_all(filled, rest, &rows);
        push_all(pushed, rest, &expected);
        CHECK(save(pushed) == save(filled));
    }
}

TEST_CASE("stream: a kernel that fails stops the stream until it is reset") {
    const Model model(failing_model());
    Stream stream(model);
    const float x[] = {1, 2, 2000, 3, 4, 5};
    size_t taken = 0;
    CHECK(lw_stream_push(stream, x, 6, &taken) == LW_DEVICE);
    CHECK(std::string(lw_last_error()).find("layer.0/fuse") != std::string::npos);
    lw_stream_row out{};
    out.struct_size = sizeof out;
    CHECK(lw_stream_push(stream, x, 1, &taken) == LW_WRONG_STATE);
    CHECK(lw_stream_pull(stream, &out) == LW_WRONG_STATE);
    CHECK(lw_stream_finish(stream) == LW_WRONG_STATE);
    size_t n = 0;
    CHECK(lw_stream_save(stream, nullptr, 0, &n) == LW_WRONG_STATE);
    REQUIRE(lw_stream_reset(stream) == LW_OK);
    CHECK(lw_stream_push(stream, x, 2, &taken) == LW_OK);
    CHECK(lw_stream_pull(stream, &out) == LW_OK);
    CHECK(out.data[0] == 1);
}

TEST_CASE("stream: arguments that make no sense are refused") {
    const Model model(audio_model());
    Stream stream(model);
    lw_stream *none = stream;
    size_t n = 0;
    CHECK(lw_stream_create(nullptr, nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(none == nullptr);
    CHECK(lw_stream_create(model, &f32_stream, nullptr) == LW_INVALID_ARGUMENT);
    lw_stream_options options{0, LW_F32, 0};
    CHECK(lw_stream_create(model, &options, &none) == LW_INVALID_ARGUMENT);
    options = {sizeof options, static_cast<lw_sample_format>(7), 0};
    CHECK(lw_stream_create(model, &options, &none) == LW_INVALID_ARGUMENT);
    options = {sizeof options, LW_I32, 0};
    CHECK(lw_stream_create(model, &options, &none) == LW_INVALID_ARGUMENT);
    options = {sizeof options, LW_F32, 1u << 31};
    CHECK(lw_stream_create(model, &options, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_push(nullptr, "", 1, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_push(stream, nullptr, 1, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_push(stream, nullptr, 0, &n) == LW_OK);
    lw_stream_row out{};
    CHECK(lw_stream_pull(stream, &out) == LW_INVALID_ARGUMENT); // struct_size
    CHECK(lw_stream_pull(stream, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_finish(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_reset(nullptr) == LW_INVALID_ARGUMENT);
    lw_stream_destroy(nullptr);
}

TEST_CASE("stream: an older caller's smaller structs are filled as far as they go") {
    const Model model(audio_model());
    Stream stream(model);
    const float x[4] = {1, 2, 3, 4};
    REQUIRE(lw_stream_push(stream, x, 4, nullptr) == LW_OK);
    lw_stream_row out;
    memset(&out, 0x5a, sizeof out);
    out.struct_size = offsetof(lw_stream_row, row);
    REQUIRE(lw_stream_pull(stream, &out) == LW_OK);
    CHECK(out.width == 1);
    CHECK(out.row == 0x5a5a5a5a5a5a5a5aull);
}

} // namespace stream_test
