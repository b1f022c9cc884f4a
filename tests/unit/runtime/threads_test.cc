// A model is shared by any number of threads; each stream and runner belongs to one.
#include "longwave/longwave.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/tiny_family.h"
#include <atomic>
#include <doctest/doctest.h>
#include <string>
#include <thread>

namespace threads_test {

using namespace longwave::test;

namespace {

// Without doctest's checks, which are not for several threads.
bool same_as(const lw_model *model, const std::vector<float> &x, const std::vector<float> &expected) {
    lw_stream *stream = nullptr;
    if (lw_stream_create(model, plain_stream(model), &stream) != LW_OK) return false;
    std::vector<float> y;
    lw_stream_row out{};
    out.struct_size = sizeof out;
    for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
        if (lw_stream_push(stream, x.data() + done, x.size() - done, &taken) != LW_OK) return false;
        while (lw_stream_pull(stream, &out) == LW_OK)
            if (out.index == 0) y.push_back(out.data[0]);
    }
    lw_stream_destroy(stream);
    return y == expected;
}

struct Runner {
    Runner(const lw_model *model, uint32_t threads, uint32_t sequences = 1) {
        lw_runner_options options = f32_runner;
        options.threads = threads;
        options.sequences = sequences;
        status = lw_runner_create(model, &options, &runner);
    }
    ~Runner() { lw_runner_destroy(runner); }
    Runner(const Runner &) = delete;
    lw_status status;
    lw_runner *runner = nullptr;
};

// Squares, then totals: what one run gives.
lw_status run_tiles(lw_runner *runner, const std::vector<float> &x, std::vector<float> *y) {
    std::vector<float> in = x;
    y->resize(2 * x.size());
    const lw_run_tensor given = {sizeof(lw_run_tensor), in.data(), in.size(), 0};
    lw_run_tensor out[2] = {{sizeof(lw_run_tensor), y->data(), x.size(), 0},
                            {sizeof(lw_run_tensor), y->data() + x.size(), x.size(), 0}};
    return lw_run(runner, &given, 1, out, 2);
}

} // namespace

TEST_CASE("threads: a run gives the same bits with any number of workers") {
    const Model model(tiles_model());
    Runner one(model, 0), two(model, 2), four(model, 4), many(model, 100);
    for (uint32_t round = 0; round < 40; ++round) {
        const std::vector<float> x = noise(tiles_capacity - 100 * round, round);
        std::vector<float> expected, y;
        REQUIRE(run_tiles(one.runner, x, &expected) == LW_OK);
        double total = 0;
        for (size_t t = 0; t < x.size(); ++t) {
            REQUIRE(expected[t] == x[t] * x[t]);
            total += expected[t];
            REQUIRE(expected[x.size() + t] == static_cast<float>(total));
        }
        for (Runner *runner : {&two, &four, &many}) {
            REQUIRE(runner->status == LW_OK);
            REQUIRE(run_tiles(runner->runner, x, &y) == LW_OK);
            CHECK(y == expected);
        }
    }
}

TEST_CASE("threads: a batch gives the same bits as its sequences one by one, whoever works on them") {
    const Model model(tiles_model());
    constexpr size_t n = 23;
    Runner one(model, 1);
    std::vector<std::vector<float>> x(n), expected(n), y(n);
    for (size_t s = 0; s < n; ++s) {
        x[s] = noise(1 + (s * 977) % tiles_capacity, static_cast<uint32_t>(s));
        REQUIRE(run_tiles(one.runner, x[s], &expected[s]) == LW_OK);
    }
    for (const auto &[threads, sequences] :
         {std::pair{1u, 1u}, {1u, 9u}, {3u, 1u}, {3u, 2u}, {4u, 4u}, {5u, 255u}}) {
        Runner runner(model, threads, sequences);
        REQUIRE(runner.status == LW_OK);
        for (int round = 0; round < 5; ++round) {
            std::vector<lw_run_tensor> in, out;
            for (size_t s = 0; s < n; ++s) {
                y[s].assign(2 * x[s].size(), -1.0f);
                in.push_back({sizeof(lw_run_tensor), x[s].data(), x[s].size(), 0});
                out.push_back({sizeof(lw_run_tensor), y[s].data(), x[s].size(), 0});
                out.push_back({sizeof(lw_run_tensor), y[s].data() + x[s].size(), x[s].size(), 0});
            }
            REQUIRE(lw_run_batch(runner.runner, n, in.data(), 1, out.data(), 2) == LW_OK);
            CHECK(y == expected);
            for (size_t s = 0; s < n; ++s) CHECK(out[2 * s + 1].rows == x[s].size());
        }
        std::vector<float> single; // between batches the threads work on parts of one again
        REQUIRE(run_tiles(runner.runner, x[3], &single) == LW_OK);
        CHECK(single == expected[3]);
    }
}

TEST_CASE("threads: a batch is checked whole before any of it runs, and names the sequence") {
    const Model model(tiles_model());
    Runner runner(model, 2, 2);
    std::vector<float> x(10, 1.0f), y(40, -1.0f);
    std::vector<lw_run_tensor> in(4, {sizeof(lw_run_tensor), x.data(), x.size(), 0}), out;
    for (size_t s = 0; s < 4; ++s) out.push_back({sizeof(lw_run_tensor), y.data() + 10 * s, x.size(), 0});
    in[2].rows = 0;
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 1, out.data(), 1) == LW_INVALID_ARGUMENT);
    CHECK(std::string(lw_last_error()).find("sequence 2: ") == 0);
    in[2].rows = 10, out[3].rows = 9;
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 1, out.data(), 1) == LW_TOO_SMALL);
    CHECK(out[3].rows == 10);
    CHECK(y == std::vector<float>(40, -1.0f));
    in[1].struct_size = 8;
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 1, out.data(), 1) == LW_INVALID_ARGUMENT);
    in[1].struct_size = sizeof(lw_run_tensor);
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 1, nullptr, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run_batch(runner.runner, 4, nullptr, 1, out.data(), 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run_batch(nullptr, 4, in.data(), 1, out.data(), 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 0, out.data(), 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run_batch(runner.runner, 0, in.data(), 1, out.data(), 1) == LW_OK);
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 1, nullptr, 0) == LW_OK);
    CHECK(lw_run_batch(runner.runner, 4, in.data(), 1, out.data(), 1) == LW_OK);
    CHECK(y == std::vector<float>(40, 1.0f));
}

TEST_CASE("threads: a tile that fails fails its run, and the next run is sound") {
    const Model model(tiles_model());
    Runner runner(model, 4);
    std::vector<float> x = noise(tiles_capacity), expected, y;
    REQUIRE(run_tiles(runner.runner, x, &expected) == LW_OK);
    for (int round = 0; round < 20; ++round) {
        std::vector<float> bad = x;
        bad[tile_rows * 17] = 2000;
        CHECK(run_tiles(runner.runner, bad, &y) == LW_DEVICE);
        CHECK(std::string(lw_last_error()).find("layer.1/fuse") != std::string::npos);
        REQUIRE(run_tiles(runner.runner, x, &y) == LW_OK);
        CHECK(y == expected);
    }
}

TEST_CASE("threads: runners with workers live and die side by side") {
    const Model model(tiles_model());
    const std::vector<float> x = noise(tiles_capacity);
    std::vector<float> expected;
    Runner alone(model, 1);
    REQUIRE(run_tiles(alone.runner, x, &expected) == LW_OK);
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (uint32_t i = 0; i < 10; ++i) {
                Runner runner(model, 1 + (i + t) % 3);
                std::vector<float> y;
                good += runner.status == LW_OK && run_tiles(runner.runner, x, &y) == LW_OK && y == expected;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(good == 3 * 10);
}

TEST_CASE("threads: more than a runner takes are refused") {
    const Model model(tiles_model());
    CHECK(Runner(model, 257).status == LW_INVALID_ARGUMENT);
    CHECK(Runner(model, 0xffffffff).status == LW_INVALID_ARGUMENT);
}

TEST_CASE("threads: many streams of one model at once give what one gives alone") {
    const Model model(audio_model());
    const std::vector<float> x = noise(400);
    const std::vector<float> expected = stream_in_cuts(model, x, {400})[0];
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) good += same_as(model, x, expected);
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(good == 8 * 50);
}

TEST_CASE(
    "threads: models are opened, verified and closed side by side, and each thread has its own last error") {
    const std::vector<uint8_t> audio = audio_model().bytes(), tokens = token_model().bytes();
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            lw_open_options options{};
            options.struct_size = sizeof options;
            options.allow_unsigned_code = 1;
            const std::string missing = "/nowhere/" + std::to_string(t);
            for (int i = 0; i < 50; ++i) {
                const std::vector<uint8_t> &bytes = (i + t) % 2 ? audio : tokens;
                lw_model *model = nullptr;
                const bool opened =
                    lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK &&
                    lw_model_verify(model, nullptr) == LW_OK;
                lw_model_close(model);
                const bool told = lw_model_open(missing.c_str(), &options, &model) == LW_NOT_FOUND &&
                                  std::string(lw_last_error()).find(missing) == 0;
                good += opened && told;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(good == 4 * 50);
}

} // namespace threads_test
