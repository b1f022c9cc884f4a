// Runs that go to and fro between a Vulkan device and the CPU.
#include "tests/unit/runtime/vulkan/life.h"
#include <cmath>

namespace mixed_test {

using namespace longwave;
using namespace longwave::test;

namespace {

struct Runner {
    explicit Runner(const lw_model *model, uint32_t threads = 1) {
        lw_runner_options options = f32_runner;
        options.threads = options.sequences = threads;
        const lw_status status = lw_runner_create(model, &options, &runner);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    ~Runner() { lw_runner_destroy(runner); }
    lw_runner *runner = nullptr;
};

void check_equal(const Results &a, const Results &b) {
    CHECK(std::fabs(a.mean[0] - b.mean[0]) < 1e-6);
    for (size_t i = 0; i < a.y.size(); ++i) CHECK(std::fabs(a.y[i] - b.y[i]) < 1e-6);
}

} // namespace

TEST_CASE("vulkan, mixed: sequences of every length give what the CPU gives, a submission for each "
          "piece of the "
          "device") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = mixed_model().bytes();
    OpenedModel there(bytes);
    const Model cpu(bytes);
    Runner mixed(there.model), here(cpu);
    uint64_t runs = 0;
    for (size_t rows : {64, 1, 7, 63, 64, 64}) {
        Results of_mixed, of_cpu;
        const std::vector<float> x = noise(rows, static_cast<uint32_t>(rows));
        REQUIRE(run_audio(mixed.runner, x, &of_mixed) == LW_OK);
        REQUIRE(run_audio(here.runner, x, &of_cpu) == LW_OK);
        check_equal(of_mixed, of_cpu);
        ++runs;
        const lw_vulkan_stats stats = there.device.stats();
        CHECK(stats.runs == runs);
        CHECK(stats.submissions == 2 * runs);
        CHECK(stats.dispatches == 2 * runs);
        CHECK(stats.fills == 0);
        CHECK(stats.moved_bytes == mixed_moves * runs);
    }
    CHECK(there.device.stats().recordings == 1); // what depends on the length is the CPU's
}

TEST_CASE("vulkan, mixed: valid lengths reach the steps on either side") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = mixed_model().bytes();
    OpenedModel there(bytes);
    const Model cpu(bytes);
    Runner mixed(there.model), here(cpu);
    for (size_t length : {1, 13, 40}) {
        Results of_mixed, of_cpu;
        const std::vector<float> x = noise(40);
        REQUIRE(run_audio(mixed.runner, x, &of_mixed, length) == LW_OK);
        REQUIRE(run_audio(here.runner, x, &of_cpu, length) == LW_OK);
        check_equal(of_mixed, of_cpu);
    }
}

TEST_CASE("vulkan, mixed: a batch on several threads gives the same bits as one after the other") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = mixed_model().bytes();
    OpenedModel there(bytes);
    Runner one(there.model), three(there.model, 3);
    check_batch(one.runner, three.runner, 9);
}

TEST_CASE("vulkan, mixed: each step is timed on its side, and a wrong question is refused in a line") {
    if (!has_device()) return;
    const std::vector<uint8_t> bytes = mixed_model().bytes();
    const OpenedModel opened(bytes, true);
    const lw_model *model = opened.model;
    lw_vulkan_times times{};
    times.struct_size = sizeof times;
    double us[8], of_cpu[4];
    std::fill(us, us + 8, -1.0);
    REQUIRE_MESSAGE(lw_vulkan_time_run(model, gpu_run, us, 8, &times) == LW_OK, std::string(lw_last_error()));
    for (const double step : us) CHECK(step >= 0);
    for (const size_t move : {1, 3, 5, 7}) CHECK(us[move] == 0);
    CHECK(times.submission_us > 0);
    CHECK(times.byte_us >= 0); // 0 where a busy machine hides what a longer transfer adds
    CHECK(lw_vulkan_time_run(model, 2, of_cpu, 4, &times) == LW_OK);
    CHECK(lw_vulkan_time_run(model, gpu_run, us, 7, &times) == LW_INVALID_ARGUMENT);
    CHECK(lw_vulkan_time_run(model, 0, us, 8, &times) == LW_INVALID_ARGUMENT);
    CHECK(lw_vulkan_time_run(model, 99, us, 8, &times) == LW_INVALID_ARGUMENT);
}

} // namespace mixed_test
