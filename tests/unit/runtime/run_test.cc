// Whole sequences: lengths, capacities, outputs, and everything that is refused.
#include "longwave/longwave.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include <cmath>
#include <doctest/doctest.h>
#include <string>

namespace run_test {

using namespace longwave;
using namespace longwave::test;

namespace {

struct Runner {
    explicit Runner(const lw_model *model, const lw_runner_options *options = &f32_runner) {
        REQUIRE(lw_runner_create(model, options, &runner) == LW_OK);
    }
    ~Runner() { lw_runner_destroy(runner); }
    lw_runner *runner = nullptr;
};

lw_run_tensor tensor(void *data, size_t rows, size_t length = 0) {
    return {sizeof(lw_run_tensor), data, rows, length};
}

} // namespace

TEST_CASE("run: pooling counts the valid length, the network runs on all rows") {
    const Model model(audio_model());
    const std::vector<float> x = noise(40);
    const Rows all = run(model, x), part = run(model, x, 10);
    CHECK(all.at(0) == part.at(0));
    float sum = 0;
    for (size_t t = 0; t < 10; ++t) sum += all.at(0)[t];
    CHECK(part.at(1)[0] == sum / 10);
    CHECK(all.at(1)[0] != part.at(1)[0]);
    CHECK(all.at(0).size() == 40);
    CHECK(all.at(1).size() == 1);
}

TEST_CASE("run: nothing is left of the sequence before") {
    const Model model(audio_model());
    Runner runner(model);
    std::vector<float> loud(64, 100.0f), x = noise(9), y(64), fresh(64);
    lw_run_tensor in = tensor(loud.data(), 64), out[2] = {tensor(y.data(), 64), tensor(nullptr, 0)};
    REQUIRE(lw_run(runner.runner, &in, 1, out, 2) == LW_OK);
    in = tensor(x.data(), 9);
    out[0] = tensor(y.data(), 64);
    REQUIRE(lw_run(runner.runner, &in, 1, out, 2) == LW_OK);
    CHECK(out[0].rows == 9);
    Runner other(model);
    out[0] = tensor(fresh.data(), 64);
    REQUIRE(lw_run(other.runner, &in, 1, out, 1) == LW_OK);
    for (size_t t = 0; t < 9; ++t) CHECK(y[t] == fresh[t]);
}

TEST_CASE("run: what does not fit is refused before anything runs") {
    const Model model(audio_model());
    Runner runner(model);
    std::vector<float> x(65), y(64);
    lw_run_tensor in = tensor(x.data(), 65),
                  out[3] = {tensor(y.data(), 64), tensor(nullptr, 0), tensor(nullptr, 0)};
    CHECK(lw_run(runner.runner, &in, 1, out, 2) == LW_TOO_LONG);
    in = tensor(x.data(), 20);
    out[0] = tensor(y.data(), 19);
    CHECK(lw_run(runner.runner, &in, 1, out, 1) == LW_TOO_SMALL);
    CHECK(out[0].rows == 20);
    CHECK(lw_run(runner.runner, &in, 1, out, 1) == LW_OK);
    CHECK(lw_run(runner.runner, &in, 1, out, 3) == LW_INVALID_ARGUMENT);
    CHECK(lw_run(runner.runner, &in, 1, nullptr, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run(runner.runner, &in, 1, nullptr, 0) == LW_OK);
    CHECK(lw_run(runner.runner, &in, 0, out, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run(runner.runner, &in, 2, out, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run(nullptr, &in, 1, out, 1) == LW_INVALID_ARGUMENT);
    CHECK(lw_run(runner.runner, nullptr, 1, out, 1) == LW_INVALID_ARGUMENT);
    in = tensor(nullptr, 20);
    CHECK(lw_run(runner.runner, &in, 1, out, 1) == LW_INVALID_ARGUMENT);
    in = tensor(x.data(), 0);
    CHECK(lw_run(runner.runner, &in, 1, out, 1) == LW_INVALID_ARGUMENT);
    in = tensor(x.data(), 20, 21);
    CHECK(lw_run(runner.runner, &in, 1, out, 1) == LW_INVALID_ARGUMENT);
    lw_runner *none = nullptr;
    CHECK(lw_runner_create(nullptr, nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_runner_create(model, &f32_runner, nullptr) == LW_INVALID_ARGUMENT);
    lw_runner_options options{sizeof options, LW_I32};
    CHECK(lw_runner_create(model, &options, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_runner_create(Model(spotter_model()), nullptr, &none) == LW_NO_STREAM);
    lw_runner_destroy(nullptr);
}

TEST_CASE("run: tokens are looked up and checked") {
    const Model model(token_model());
    Runner runner(model);
    int32_t ids[] = {4, 0, 3};
    std::vector<float> y(9);
    lw_run_tensor in = tensor(ids, 3), out = tensor(y.data(), 3);
    REQUIRE(lw_run(runner.runner, &in, 1, &out, 1) == LW_OK);
    CHECK(y == std::vector<float>{40, 41, 42, 0, 1, 2, 30, 31, 32});
    ids[1] = 5;
    CHECK(lw_run(runner.runner, &in, 1, &out, 1) == LW_BAD_TOKEN);
    ids[1] = -1;
    CHECK(lw_run(runner.runner, &in, 1, &out, 1) == LW_BAD_TOKEN);
}

TEST_CASE("run: of several capacities the smallest that fits is run") {
    Draft draft = token_model();
    auto small = std::make_unique<fb::EntryT>(*draft.plan.entries[1]);
    small->block = 2;
    small->inputs[0]->rows = 2;
    small->steps[0]->kernel = 0;
    small->outputs[0]->rows = 2;
    draft.plan.entries.push_back(std::move(small));
    const Model model(draft);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    CHECK(info.run_capacity == 8);
    Runner runner(model);
    for (size_t n : {1, 2, 3, 8}) {
        int32_t ids[] = {1, 2, 3, 4, 0, 1, 2, 3};
        std::vector<float> y(24);
        lw_run_tensor in = tensor(ids, n), out = tensor(y.data(), n);
        REQUIRE(lw_run(runner.runner, &in, 1, &out, 1) == LW_OK);
        for (size_t t = 0; t < n; ++t) CHECK(y[3 * t] == 10.0f * static_cast<float>(ids[t]));
    }
}

TEST_CASE("run: 16-bit samples, and values that are not finite") {
    const Model model(audio_model());
    lw_runner_options options{sizeof options, LW_S16};
    Runner shorts(model, &options), floats(model);
    int16_t a[] = {16384, -32768, 32767};
    float b[] = {0.5f, -1.0f, 32767.0f / 32768};
    float y[3], z[3], bad[] = {0.5f, NAN, INFINITY}, zero[] = {0.5f, 0, 0};
    lw_run_tensor in = tensor(a, 3), out = tensor(y, 3);
    REQUIRE(lw_run(shorts.runner, &in, 1, &out, 1) == LW_OK);
    in = tensor(b, 3);
    out = tensor(z, 3);
    REQUIRE(lw_run(floats.runner, &in, 1, &out, 1) == LW_OK);
    for (int t = 0; t < 3; ++t) CHECK(y[t] == z[t]);
    in = tensor(bad, 3);
    out = tensor(y, 3);
    REQUIRE(lw_run(floats.runner, &in, 1, &out, 1) == LW_OK);
    in = tensor(zero, 3);
    out = tensor(z, 3);
    REQUIRE(lw_run(floats.runner, &in, 1, &out, 1) == LW_OK);
    for (int t = 0; t < 3; ++t) CHECK(y[t] == z[t]);
}

TEST_CASE("run: a sequence shorter than an op can take is refused with the layer's name, never padded") {
    Draft draft = token_model();
    draft.plan.entries[1]->least = 6;
    draft.plan.entries[1]->fixed = "block.0.orchid";
    int32_t ids[] = {1, 2, 3, 4, 0, 1, 2, 3, 4};
    std::vector<float> y(24);
    const auto status = [&](const Draft &with, size_t rows) {
        const Model model(with);
        Runner runner(model);
        lw_run_tensor in = tensor(ids, rows), out = tensor(y.data(), 8);
        return lw_run(runner.runner, &in, 1, &out, 1);
    };
    CHECK(status(draft, 8) == LW_OK);
    CHECK(status(draft, 6) == LW_OK);
    CHECK(status(draft, 5) == LW_TOO_SHORT);
    CHECK(std::string(lw_last_error()) ==
          "5 rows; block.0.orchid reads the whole sequence and takes at least 6: compile with --length 5");
    draft.plan.entries[1]->least = 8;
    CHECK(status(draft, 7) == LW_TOO_SHORT);
    CHECK(std::string(lw_last_error()) ==
          "7 rows; block.0.orchid reads the whole sequence and takes only 8: compile with --length 7");
    CHECK(status(draft, 9) == LW_TOO_LONG);
    CHECK(std::string(lw_last_error()) ==
          "9 rows; block.0.orchid reads the whole sequence and takes only 8: compile with --length 9");
    // An entry of a capacity that it does not fill is passed over for one that it does.
    auto small = std::make_unique<fb::EntryT>(*draft.plan.entries[1]);
    small->block = small->least = small->inputs[0]->rows = small->outputs[0]->rows = 2;
    small->steps[0]->kernel = 0;
    draft.plan.entries.push_back(std::move(small));
    CHECK(status(draft, 2) == LW_OK);
    CHECK(status(draft, 8) == LW_OK);
    CHECK(status(draft, 1) == LW_TOO_SHORT);
    CHECK(status(draft, 3) == LW_TOO_SHORT);
    CHECK(std::string(lw_last_error()) ==
          "3 rows; block.0.orchid reads the whole sequence and takes only 8 or 2: compile with --length 3");
    draft.plan.entries.back()->least = 0;
    CHECK(status(draft, 1) == LW_OK);
    CHECK(status(draft, 3) == LW_TOO_SHORT);
    CHECK(std::string(lw_last_error()) == "3 rows; block.0.orchid reads the whole sequence and takes only 8 "
                                          "or at most 2: compile with --length 3");
}

TEST_CASE("run: struct_size of tensors is read, and says how far the next one lies") {
    const Model model(audio_model());
    Runner runner(model);
    std::vector<float> x = noise(20), y(20), z(20);
    struct Larger { // as a later version of the library may declare it
        lw_run_tensor now;
        uint64_t later[3];
    };
    Larger in = {tensor(x.data(), 20), {}}, out[2] = {{tensor(y.data(), 20), {}}, {tensor(z.data(), 20), {}}};
    in.now.struct_size = out[0].now.struct_size = out[1].now.struct_size = sizeof(Larger);
    REQUIRE(lw_run(runner.runner, &in.now, 1, &out[0].now, 2) == LW_OK);
    CHECK(out[0].now.rows == 20);
    CHECK(out[1].now.rows == 1);
    CHECK(y == run(model, x).at(0));
    CHECK(z[0] == run(model, x).at(1)[0]);
    const auto with = [&](size_t in_size, size_t out_size) {
        lw_run_tensor a = tensor(x.data(), 20), b = tensor(y.data(), 20);
        a.struct_size = in_size;
        b.struct_size = out_size;
        return lw_run(runner.runner, &a, 1, &b, 1);
    };
    CHECK(with(sizeof(lw_run_tensor), sizeof(lw_run_tensor)) == LW_OK);
    CHECK(with(0, sizeof(lw_run_tensor)) == LW_INVALID_ARGUMENT);
    CHECK(with(sizeof(lw_run_tensor) - 1, sizeof(lw_run_tensor)) == LW_INVALID_ARGUMENT);
    CHECK(with(sizeof(lw_run_tensor), 0) == LW_INVALID_ARGUMENT);
    CHECK(with(sizeof(lw_run_tensor), sizeof(lw_run_tensor) + 1) == LW_INVALID_ARGUMENT);
    out[1].now.struct_size = sizeof(lw_run_tensor);
    CHECK(lw_run(runner.runner, &in.now, 1, &out[0].now, 2) == LW_INVALID_ARGUMENT); // two sizes in one list
}

TEST_CASE("run: samples beyond the artifact's limit count as zero") {
    const Model model(audio_model());
    float x[] = {0.5f, 1.5e6f, 3e38f, -2e20f, 1e6f}, clean[] = {0.5f, 0, 0, 0, 1e6f}, y[5], z[5];
    Runner runner(model);
    lw_run_tensor in = tensor(x, 5), out = tensor(y, 5);
    REQUIRE(lw_run(runner.runner, &in, 1, &out, 1) == LW_OK);
    in = tensor(clean, 5);
    out = tensor(z, 5);
    REQUIRE(lw_run(runner.runner, &in, 1, &out, 1) == LW_OK);
    for (int t = 0; t < 5; ++t) CHECK(y[t] == z[t]);
}

} // namespace run_test
