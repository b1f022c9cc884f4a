// A model is shared by any number of threads; each stream and runner belongs to one.
#include "longwave/longwave.h"
#include "tests/support/session.h"
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

} // namespace

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

TEST_CASE("threads: models are opened, verified and closed side by side, and each thread has its own last error") {
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
                    lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK && lw_model_verify(model, nullptr) == LW_OK;
                lw_model_close(model);
                const bool told = lw_model_open(missing.c_str(), &options, &model) == LW_NOT_FOUND && std::string(lw_last_error()).find(missing) == 0;
                good += opened && told;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(good == 4 * 50);
}
