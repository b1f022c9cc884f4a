// Offline runs on a Vulkan device whose values lie channel by channel around long convolutions, also
// for sequences that end before the run does. Kernels and ports that need rows read and write copies.
#include "tests/support/every_case.h"
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_models.h"
#include <nlohmann/json.hpp>

namespace vulkan_channel_major_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width_of_input = 8;

// What lies by rows at its ports, and what the convolutions share between them.
LayerPackage convolutions(uint32_t channels, uint32_t taps, bool two_sided) {
    LayerPackage package(features_input(width_of_input));
    package.linear("in", width_of_input, channels);
    for (const char *block : {"a", "b"}) {
        package.sgconv(std::string(block) + ".conv", channels, taps,
                       {.kernel_dim = 32, .two_sided = two_sided, .norm = 30});
        package.layer_norm(std::string(block) + ".norm", channels);
    }
    package.linear("out", channels, 7);
    return package;
}

// A convolution of its input, whose result is that of the model.
LayerPackage convolution_alone(uint32_t channels, uint32_t taps, bool two_sided) {
    LayerPackage package(features_input(channels));
    package.sgconv("conv", channels, taps,
                   {.kernel_dim = 32, .two_sided = two_sided, .norm = 30, .alone = true});
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

// Kernels of the device's run that change the order of a value and do nothing else.
int copies(const compiler::Compiled &made) {
    const nlohmann::json report = nlohmann::json::parse(made.report);
    int found = 0;
    for (const auto &layer : report["layers"])
        for (const auto &kernels : layer.value("kernels", nlohmann::json::array()))
            if (kernels["entry"].get<std::string>().find(" on vulkan") != std::string::npos)
                for (const auto &name : kernels["names"]) found += name == "pointwise";
    return found;
}

std::string tuning_of(const std::string &ns_per_dispatch) {
    return R"({"tuning":1,"gpu":{"device":"a test","bytes_per_ns":400,"busy_workgroups":64,"ns_per_dispatch":)" +
           ns_per_dispatch + "}}";
}

void compare(const Expected<compiler::Compiled> &made, uint32_t length, size_t width = width_of_input) {
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
    for (const bool two_sided : {true, false}) {
        if (!two_sided && !every_case()) continue; // what a dispatch costs, below, has one side here
        const auto made = compile(convolutions(20, 512, two_sided), 512, "f32", "vulkan-16k");
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(by_channel(*made) == 5);
        compare(made, 512);
    }
}

TEST_CASE(
    "vulkan channel-major: an Orchid, whose kernel comes from its input, in both sizes of shared memory") {
    for (const char *target : {"vulkan-16k", "vulkan-32k"}) {
        if (std::string(target) == "vulkan-32k" && !every_case()) continue; // orchid_lengths_on_a_gpu_test
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

TEST_CASE("vulkan channel-major: copies between a convolution and the ports of the model") {
    struct {
        uint32_t channels, length;
        const char *target;
    } cases[] = {{20, 8192, "vulkan-32k"}, {70, 2048, "vulkan-16k"}};
    for (const auto &[channels, length, target] : cases)
        for (const bool two_sided : {false, true}) {
            if (two_sided != (channels == 70) && !every_case())
                continue; // each size with one number of sides
            INFO(channels, " channels, ", length, " rows, ", std::string(target));
            const auto made = compile(convolution_alone(channels, length, two_sided), length, "f32", target);
            REQUIRE_MESSAGE(made, made.status().message());
            CHECK(by_channel(*made) == 2); // the copy of the input, and what is copied to the output
            CHECK(copies(*made) == 2);
            compare(made, length, channels);
        }
}

TEST_CASE("vulkan channel-major: no copies where they would move more, and of one channel") {
    struct {
        uint32_t channels, length;
    } cases[] = {{64, 1024}, {16, 2048}, {1, 2048}};
    for (const auto &[channels, length] : cases) {
        INFO(channels, " channels, ", length, " rows");
        const auto made = compile(convolution_alone(channels, length, false), length, "f32", "vulkan-16k");
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(by_channel(*made) == 0);
        CHECK(copies(*made) == 0);
    }
}

TEST_CASE("vulkan channel-major: what a dispatch costs decides about copies") {
    const LayerPackage package = convolution_alone(16, 2048, false);
    for (const auto &[ns, expected] : {std::pair{"1", 2}, {"100000", 0}}) {
        compiler::Options options = vulkan_options_here();
        options.targets.back() = "vulkan-16k";
        options.length = 2048;
        options.tuning = tuning_of(ns);
        const auto made = package.compile(options);
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(copies(*made) == expected);
        if (expected) compare(made, 2048, 16);
    }
}

TEST_CASE("vulkan channel-major: a kernel that reads rows only has a copy") {
    LayerPackage package(features_input(width_of_input));
    package.linear("in", width_of_input, 20);
    package.sgconv("conv", 20, 8192, {.kernel_dim = 32, .norm = 30, .alone = true});
    package.plain("mean", "pooled");
    const auto made = compile(package, 8192, "f32", "vulkan-32k");
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(by_channel(*made) == 2);
    CHECK(copies(*made) == 1);
    compare(made, 8192);
}

TEST_CASE("vulkan channel-major: an embedding writes what a convolution reads") {
    LayerPackage package(tokens_input(50));
    package.embedding("embed", 50, 20);
    package.sgconv("conv", 20, 1024, {.kernel_dim = 32, .two_sided = true, .norm = 30});
    const auto made = compile(package, 1024, "f32", "vulkan-16k");
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(by_channel(*made) == 2);
    CHECK(copies(*made) == 0);
    const Both models(made);
    CHECK(lw_model_verify(models.gpu.handle.get(), nullptr) == LW_OK);
    for (const size_t rows : {1024u, 700u, 3u}) {
        cli::Sequence in{.floats = {{}}, .ids = {{}}, .rows = rows, .lengths = {}};
        for (size_t r = 0; r < rows; r++) in.ids[0].push_back(static_cast<int32_t>(r * 31 % 50));
        CHECK(distance(outputs_of_run(models.gpu, in)[0], outputs_of_run(models.cpu, in)[0]) <= 1e-5);
    }
}

TEST_CASE("vulkan channel-major: copies in one of several lengths, and as float16") {
    const LayerPackage package = convolution_alone(16, 2048, false);
    for (const char *storage : {"f32", "f16"}) {
        compiler::Options options = vulkan_options_here();
        options.targets.back() = "vulkan-16k";
        options.length = 2048;
        options.further_lengths = {256};
        options.gpu_storage = storage;
        options.tuning = tuning_of("1"); // or so few numbers would not pay for copies
        const auto made = package.compile(options);
        REQUIRE_MESSAGE(made, made.status().message());
        CHECK(copies(*made) == 2); // of the long run
        if (std::string(storage) == "f32") {
            compare(made, 2048, 16);
            compare(made, 256, 16);
        }
        const Both models(made);
        CHECK(lw_model_verify(models.gpu.handle.get(), nullptr) == LW_OK);
    }
}

} // namespace vulkan_channel_major_test
