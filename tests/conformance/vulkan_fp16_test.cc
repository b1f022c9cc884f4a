// Offline runs on a Vulkan device that store float16 between their kernels. They have a limit of
// their own from float64, and report values that float16 cannot hold.
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_models.h"
#include <nlohmann/json.hpp>

namespace vulkan_fp16_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 5;

Expected<compiler::Compiled> compile(const LayerPackage &package, uint32_t length, const char *storage,
                                     bool streams = false) {
    compiler::Options options = vulkan_options_here();
    options.length = length;
    options.stream = streams ? compiler::StreamMode::required : compiler::StreamMode::none;
    if (streams) options.blocks = {8};
    options.gpu_storage = storage;
    return package.compile(options);
}

LayerPackage products(const char *norm = "norm") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 48);
    package.plain("gelu", "act");
    package.layer_norm(norm, 48);
    package.linear("out", 48, 7);
    return package;
}

LayerPackage long_convolutions(uint32_t channels, uint32_t taps) {
    LayerPackage package(features_input(width));
    package.linear("in", width, channels);
    for (const char *block : {"a", "b"}) {
        package.sgconv(std::string(block) + ".conv", channels, taps, {.norm = 30});
        package.layer_norm(std::string(block) + ".norm", channels);
    }
    package.linear("out", channels, 7);
    return package;
}

nlohmann::json entry_of(const compiler::Compiled &made, const char *kind) {
    const nlohmann::json report = nlohmann::json::parse(made.report);
    for (const auto &entry : report["entries"])
        if (entry.contains("gpu") && entry["kind"] == kind) return entry;
    return {};
}

// The largest difference from the CPU, of the peak.
double away(const Expected<compiler::Compiled> &made, size_t rows, double *of_golden) {
    const Both models(made);
    CHECK(lw_model_verify(models.gpu.handle.get(), of_golden) == LW_OK);
    *of_golden *= double{models.gpu.info.error_limit};
    const cli::Sequence in = sequence_of(random_numbers(rows * width, 3), width);
    return distance(outputs_of_run(models.gpu, in)[0], outputs_of_run(models.cpu, in)[0]);
}

void compare(const LayerPackage &package, uint32_t length) {
    const auto wide = compile(package, length, "f32"), half = compile(package, length, "f16");
    REQUIRE_MESSAGE(half, half.status().message());
    REQUIRE(wide);
    CHECK(half->artifact[10] >= 3); // the minor version of the format
    const nlohmann::json report = nlohmann::json::parse(half->report), run = entry_of(*half, "run");
    const double limit = report["precision"]["float16"]["limit"].get<double>();
    CHECK(limit < 0.02);
    CHECK(run["storage"]["float16"].get<int>() > 0);
    CHECK(run["moved_bytes"].get<double>() < entry_of(*wide, "run")["moved_bytes"].get<double>());
    CHECK(run["storage"]["moved_bytes_of_float32"].get<double>() >= run["moved_bytes"].get<double>());
    double wide_golden = 0, half_golden = 0;
    for (const size_t rows : {size_t{length}, size_t{length} / 2 + 1, size_t{3}}) {
        const double error = away(half, rows, &half_golden);
        CHECK(away(wide, rows, &wide_golden) <= 1e-5);
        CHECK(error <= limit);
        CHECK(error > 1e-5); // it is float16
        MESSAGE(rows, " rows: ", error, " of the peak, at most ", limit);
    }
    MESSAGE("from float64: float32 ", wide_golden, ", float16 ", half_golden);
    CHECK(half_golden > wide_golden);
}

} // namespace

TEST_CASE("vulkan halves: linear, GELU and layer norm") { compare(products(), 300); }

TEST_CASE("vulkan halves: long convolutions of one dispatch, and of three") {
    compare(long_convolutions(24, 64), 100);
    LayerPackage package(features_input(width));
    package.linear("in", width, 16);
    package.sgconv("conv", 16, 5000, {.norm = 500});
    package.linear("out", 16, 7);
    compare(package, 5000);
}

TEST_CASE("vulkan halves: streams beside such runs store float32") {
    const auto made = compile(long_convolutions(8, 64), 128, "f16", true);
    const Both models(made);
    double worst = 0;
    CHECK(lw_model_verify(models.gpu.handle.get(), &worst) == LW_OK);
    const cli::Sequence in = sequence_of(random_numbers(128 * width, 3), width);
    const std::vector<float> x = random_numbers(128 * width, 3);
    CHECK(distance(streamed(models.gpu, x.data(), 128), streamed(models.cpu, x.data(), 128)) <= 1e-5);
    CHECK(distance(outputs_of_run(models.gpu, in)[0], outputs_of_run(models.cpu, in)[0]) > 1e-5);
    CHECK_FALSE(entry_of(*made, "stream").contains("storage"));
}

TEST_CASE("vulkan halves: a run whose values float16 does not hold says so, and the next one goes on") {
    const auto made = compile(products(), 64, "f16");
    const Both models(made);
    auto runner = cli::Runner::create(models.gpu);
    REQUIRE(runner);
    std::vector<float> x = random_numbers(64 * width, 3);
    const auto good = runner->run(sequence_of(x, width));
    REQUIRE(good);
    for (float &value : x) value *= 0x1p20f; // exact, and so is the way back
    const auto beyond = runner->run(sequence_of(x, width));
    REQUIRE_FALSE(beyond);
    CHECK(beyond.status().message().find("65,504") != std::string::npos);
    for (float &value : x) value *= 0x1p-20f;
    const auto again = runner->run(sequence_of(x, width));
    REQUIRE(again);
    CHECK(distance((*again)[0], (*good)[0]) == 0);
}

TEST_CASE("vulkan halves: a model that float16 cannot hold, and options that mean nothing, are refused") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 8, 1e6f);
    package.layer_norm("norm", 8);
    package.linear("out", 8, 3);
    CHECK(compile(package, 32, "f32"));
    const auto beyond = compile(package, 32, "f16");
    REQUIRE_FALSE(beyond);
    CHECK(beyond.status().fault() == Fault::input);
    CHECK(beyond.status().message().find("beyond 65504") != std::string::npos);
    const auto unknown = compile(products(), 32, "f8");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.status().fault() == Fault::usage);
    compiler::Options options = options_here();
    options.gpu_storage = "f16";
    const auto no_gpu = products().compile(options);
    REQUIRE_FALSE(no_gpu);
    CHECK(no_gpu.status().message().find("--target host,vulkan-32k") != std::string::npos);
}

} // namespace vulkan_fp16_test
