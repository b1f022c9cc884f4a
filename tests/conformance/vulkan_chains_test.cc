// Steps of a stream that share a dispatch: the bits of the same steps one by one, and what the CPU
// computes.
#include "tests/support/every_case.h"
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_streams.h"

namespace vulkan_chains_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 21;

// Compiles the model with chains and without, and streams the same rows through both.
struct Compared {
    std::vector<float> chained, apart, cpu;
    double limit = 0; // that the file states for its outputs
    uint64_t chained_dispatches = 0, apart_dispatches = 0;
};

Compared compare(const LayerPackage &package, uint32_t block, size_t ticks) {
    Compared made;
    for (const bool chained : {true, false}) {
        compiler::Options options = vulkan_options_here();
        options.blocks = {block};
        options.offline = false;
        if (!chained) options.gpu_chained_bytes = 0;
        const auto compiled = package.compile(options);
        const Both models(compiled);
        const std::vector<float> x = random_numbers(ticks * width, 11);
        (chained ? made.chained : made.apart) = streamed(models.gpu, x.data(), ticks);
        if (chained) made.cpu = streamed(models.cpu, x.data(), ticks);
        made.limit = double{models.gpu.info.error_limit};
        (chained ? made.chained_dispatches : made.apart_dispatches) =
            many_have_the_bits_of_one(models.gpu, {.streams = 3}).dispatches;
    }
    return made;
}

void check(const LayerPackage &package, uint32_t block, uint64_t most) {
    const Compared made = compare(package, block, 24 * block);
    CHECK(same_bits(made.chained, made.apart));
    CHECK(made.limit > 0);
    CHECK(made.limit < 1e-3);
    CHECK(distance(made.chained, made.cpu) <= made.limit);
    CHECK(made.chained_dispatches <= most);
    CHECK(made.chained_dispatches < made.apart_dispatches);
    MESSAGE("block ", block, ": ", made.chained_dispatches, " dispatches, one by one ",
            made.apart_dispatches);
}

} // namespace

TEST_CASE("vulkan chains: kernels with and without barriers, of unlike numbers of threads") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 200);
    package.layer_norm("norm", 200);
    package.plain("gelu", "act");
    package.linear("out", 200, 7);
    package.layer_norm("last", 7);
    for (const uint32_t block : {1u, 5u}) check(package, block, 1);
    if (every_case()) check(package, 16, 1);
}

TEST_CASE("vulkan chains: rings and state move on between the kernels of a chain") {
    LayerPackage package(features_input(width));
    package.conv1d("first", width, 24, 5);
    package.plain("silu", "act");
    package.layer_norm("norm", 24);
    package.conv1d("second", 24, 16, 3);
    package.linear("out", 16, 7);
    for (const uint32_t block : {1u, 4u}) check(package, block, 1);
}

TEST_CASE("vulkan chains: a step that touches much keeps its dispatch") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 300);
    package.layer_norm("norm", 300);
    package.linear("large", 300, 400); // 480 KB
    package.layer_norm("again", 400);
    package.linear("out", 400, 7);
    check(package, 1, 3);
}

TEST_CASE("vulkan chains: layers that fire in some blocks alone") {
    LayerPackage package(features_input(width));
    package.conv1d("first", width, 24, 5, 4);
    package.plain("gelu", "act");
    package.conv1d("second", 24, 16, 3);
    package.linear("out", 16, 7);
    check(package, 1, 2);
}

TEST_CASE("vulkan chains: one channel and two, with long convolutions") {
    for (const uint64_t channels : {1u, 2u}) {
        CAPTURE(channels);
        LayerPackage package(features_input(width));
        package.linear("in", width, channels);
        package.plain("gelu", "act");
        package.sgconv("long", channels, 64);
        package.conv1d("short", channels, channels, 3);
        package.linear("out", channels, 7);
        check(package, 4, 12);
    }
}

TEST_CASE("vulkan chains: 2,048 channels") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 2048);
    package.layer_norm("norm", 2048);
    package.plain("gelu", "act");
    package.linear("out", 2048, 7);
    check(package, 1, 1);
}

TEST_CASE("vulkan chains: 24 layers") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 24);
    for (int layer = 0; layer < 24; layer++) {
        const std::string number = std::to_string(layer);
        package.layer_norm("norm" + number, 24);
        package.linear("linear" + number, 24, 24);
        package.plain("gelu", "act" + number);
    }
    package.linear("out", 24, 7);
    check(package, 1, 8);
}

} // namespace vulkan_chains_test
