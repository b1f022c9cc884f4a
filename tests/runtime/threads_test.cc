// A model is shared by any number of threads; each stream and runner belongs to one.
#include "longwave/longwave.h"
#include "tests/support/session.h"
#include "tests/support/tiny_family.h"
#include <atomic>
#include <doctest/doctest.h>
#include <thread>

using namespace longwave::test;

namespace {

// Without doctest's checks, which are not for several threads.
bool same_as(const lw_model *model, const std::vector<float> &x, const std::vector<float> &expected) {
    lw_stream *stream = nullptr;
    if (lw_stream_create(model, nullptr, &stream) != LW_OK) return false;
    std::vector<float> y;
    lw_output out{};
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
    Runner(const lw_model *model, uint32_t threads) {
        lw_run_options options{};
        options.struct_size = sizeof options;
        options.threads = threads;
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
    const lw_tensor given = {sizeof(lw_tensor), in.data(), in.size(), 0};
    lw_tensor out[2] = {{sizeof(lw_tensor), y->data(), x.size(), 0},
                        {sizeof(lw_tensor), y->data() + x.size(), x.size(), 0}};
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
