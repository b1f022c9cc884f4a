// Offline runs on a Vulkan device whose values lie channel by channel between long convolutions, also
// for sequences that end before the run does.
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_models.h"
#include <nlohmann/json.hpp>

namespace vulkan_channel_major_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 8;

// What lies by rows at its ports, and what the convolutions share between them.
LayerPackage convolutions(uint32_t channels, uint32_t taps, bool two_sided) {
    LayerPackage package(features_input(width));
    package.linear("in", width, channels);
    for (const char *block : {"a", "b"}) {
        package.sgconv(std::string(block) + ".conv", channels, taps,
                       {.kernel_dim = 32, .two_sided = two_sided, .norm = 30});
        package.layer_norm(std::string(block) + ".norm", channels);
    }
    package.linear("out", channels, 7);
    return package;
}

Expected<compiler::Compiled> compile(const LayerPackage &package, uint32_t length,
                                     const char *storage = "f32", const char *target = nullptr) {
    compiler::Options options = vulkan_options_here();
    if (target) options.targets.back() = target;
    options.length = length;
    options.stream = compiler::StreamMode::none;
    options.gpu_storage = storage;
    return package.compile(options);
}

int by_channel(const compiler::Compiled &made) {
    const nlohmann::json report = nlohmann::json::parse(made.report);
    for (const auto &entry : report["entries"])
        if (entry.contains("gpu")) return entry.value("channel_major", 0);
    return -1;
}

void compare(const Expected<compiler::Compiled> &made, uint32_t length) {
    const Both models(made);
    double golden = 0;
    CHECK(lw_model_verify(models.gpu.handle.get(), &golden) == LW_OK);
    for (const size_t rows : {size_t{length}, size_t{length} * 3 / 5 + 1, size_t{3}}) {
        INFO(rows, " rows");
        const cli::Sequence in = sequence_of(random_numbers(rows * width, 3), width);
        CHECK(distance(outputs_of_run(models.gpu, in)[0], outputs_of_run(models.cpu, in)[0]) <= 1e-5);
    }
}

} // namespace

TEST_CASE("vulkan channel-major: between long convolutions, one- and two-sided, in runs and shorter ones") {
    for (const bool two_sided : {false, true}) {
        const auto made = compile(convolutions(20, 2048, two_sided), 2048);
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(by_channel(*made) == 5); // all but what the last norm reads and writes
        compare(made, 2048);
    }
}

TEST_CASE("vulkan channel-major: points in shared memory of 16 KiB, from 512 rows on") {
    for (const bool two_sided : {false, true}) {
        const auto made = compile(convolutions(20, 512, two_sided), 512, "f32", "vulkan-16k");
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(by_channel(*made) == 5);
        compare(made, 512);
    }
}

TEST_CASE(
    "vulkan channel-major: an Orchid, whose kernel comes from its input, in both sizes of shared memory") {
    for (const char *target : {"vulkan-32k", "vulkan-16k"}) {
        auto package = package::read("examples/packages/orchid");
        REQUIRE_MESSAGE(package, package.status().message());
        compiler::Options options = vulkan_options_here();
        options.targets.back() = target;
        options.length = 1024;
        const auto made = compiler::compile(*std::move(package), options);
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(by_channel(*made) == 15); // from the encoder to what the output projection reads
        const Both models(made);
        CHECK(lw_model_verify(models.gpu.handle.get(), nullptr) == LW_OK);
        const cli::Sequence in = sequence_of(random_numbers(1024 * 4, 3), 4);
        CHECK(distance(outputs_of_run(models.gpu, in)[0], outputs_of_run(models.cpu, in)[0]) <= 1e-5);
    }
}

TEST_CASE("vulkan channel-major: where nothing is gained, rows lie one after the other") {
    const auto few = compile(convolutions(20, 1024, false), 1024),
               odd = compile(convolutions(20, 2048, false), 2044);
    REQUIRE(few);
    REQUIRE(odd);
    CHECK(by_channel(*few) == 0);
    CHECK(by_channel(*odd) == 0); // channels would not begin at sectors
}

TEST_CASE("vulkan channel-major: with float16 between the kernels, but not where a sequence may end within") {
    const auto causal = compile(convolutions(20, 2048, false), 2048, "f16"),
               two_sided = compile(convolutions(20, 2048, true), 2048, "f16");
    REQUIRE_MESSAGE(causal, causal.status().message());
    REQUIRE(two_sided);
    CHECK(by_channel(*causal) == 5);
    CHECK(by_channel(*two_sided) == 0);
    const Both models(causal);
    CHECK(lw_model_verify(models.gpu.handle.get(), nullptr) == LW_OK);
}

} // namespace vulkan_channel_major_test
