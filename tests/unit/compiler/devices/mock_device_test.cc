// A device beyond CPU and Vulkan needs its traits, its kernels and its runtime library. Here is
// one: planner, passes and ops do not know it, and its offline runs and streams have the bits of
// the host's.
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/unit/compiler/devices/mock_device.h"
#include "tests/unit/compiler/devices/mock_traits.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace mock_device_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr uint32_t width = 16, rows = 96;

Expected<compiler::Compiled> compiled_for_mock(bool place_on_host) {
    static const std::vector<devices::Traits> known{mock_traits()};
    LayerPackage package(features_input(width));
    package.layer_norm("norm", width);
    package.sgconv("conv", width, rows);
    package.linear("head", width, 5);
    compiler::Options options = options_here();
    options.devices = &known;
    options.targets.push_back("mock");
    options.length = rows;
    options.blocks = {1, 8};
    if (place_on_host) options.place.cpu_layers = {"norm", "conv", "head"};
    return package.compile(options);
}

} // namespace

TEST_CASE("devices: a device with its own traits and runtime computes offline runs and streams") {
    const auto artifact = compiled_for_mock(false);
    REQUIRE_MESSAGE(artifact, artifact.status().message());
    const auto report = nlohmann::json::parse(artifact->report);
    CHECK(report["gpu"]["name"] == "mock");
    CHECK(report["gpu"]["costs"] == "assumed");
    CHECK(!report["gpu"].contains("no_runs"));
    CHECK(!report["gpu"].contains("no_streams"));

    const cli::Model host = opened(artifact);
    auto mock = cli::Model::open(artifact->artifact, mock_device());
    REQUIRE_MESSAGE(mock, mock.status().message());
    CHECK(mock_calls().opened == 1);

    const std::vector<float> x = random_numbers(size_t{rows} * width, 1, 1.0f);
    const Outputs expected = outputs_of_run(host, sequence_of(x, width));
    CHECK(mock_calls().runs == 0);
    const Outputs found = outputs_of_run(*mock, sequence_of(x, width));
    CHECK(mock_calls().runs == 1);
    CHECK(same_bits(found[0], expected[0]));

    for (const uint32_t entry : {0u, 1u})
        CHECK(same_bits(streamed(*mock, x.data(), rows, entry), streamed(host, x.data(), rows, entry)));
    CHECK(mock_calls().runs > 1);
}

TEST_CASE("devices: a device without a layer of its own gets no offline run") {
    const auto artifact = compiled_for_mock(true);
    REQUIRE_MESSAGE(artifact, artifact.status().message());
    const auto report = nlohmann::json::parse(artifact->report);
    CHECK(report["gpu"]["no_runs"] == "no layer is left for mock");
}

TEST_CASE("devices: only the devices that the options know are targets") {
    compiler::Options options = options_here();
    options.targets.push_back("mock");
    LayerPackage package(features_input(width));
    package.linear("head", width, 5);
    const auto artifact = package.compile(options);
    REQUIRE(!artifact);
    CHECK(artifact.status().fault() == Fault::usage);
    CHECK(artifact.status().message().find("unknown target \"mock\"") != std::string::npos);
}

} // namespace mock_device_test
