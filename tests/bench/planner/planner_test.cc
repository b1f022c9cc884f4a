#include "compiler/compile.h"
#include "formats/package/package.h"
#include "tests/bench/planner/bench_planner.h"
#include "tests/schedules/kernel_call.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace longwave;

namespace {

// The keyword model for this machine, in a file that goes with this.
struct KeywordArtifact {
    std::string path = "/tmp/longwave-planner-XXXXXX";
    nlohmann::json report;

    KeywordArtifact() {
        auto package = package::read("examples/kws/model");
        REQUIRE(package);
        compiler::Options options;
        for (const targets::Target &target : targets::all())
            if (test::host_runs(target)) options.targets = {target.name};
        options.blocks = {320, 1600};
        options.kgen = test::find_kgen();
        auto compiled = compiler::compile(*std::move(package), options);
        REQUIRE(compiled);
        report = nlohmann::json::parse(compiled->report);
        const int file = mkstemp(path.data());
        REQUIRE(file >= 0);
        REQUIRE(write(file, compiled->artifact.data(), compiled->artifact.size()) ==
                static_cast<ssize_t>(compiled->artifact.size()));
        close(file);
    }
    ~KeywordArtifact() { unlink(path.c_str()); }
};

} // namespace

TEST_CASE("bench --planner: every layer with kernels is there in every entry, with positive figures") {
    const KeywordArtifact artifact;
    const auto result = bench::bench_planner({.path = artifact.path, .variant = "", .seconds = 0.05});
    REQUIRE(result);
    std::set<std::pair<std::string, std::string>> measured;
    std::map<std::string, double> shares;
    for (const bench::LayerCost &layer : result->layers) {
        measured.emplace(layer.entry, layer.layer);
        shares[layer.entry] += layer.share;
        CHECK_MESSAGE(layer.measured_us >= 0, layer.layer); // less than the clock takes counts as nothing
    }
    CHECK(shares.size() == 3); // run, stream 320, stream 1600
    for (const auto &[entry, share] : shares) CHECK(share == doctest::Approx(1));
    size_t choices = 0;
    for (const auto &layer : artifact.report["layers"]) {
        const std::string name = layer["layer"];
        for (const auto &kernels : layer.value("kernels", nlohmann::json::array()))
            if (kernels["entry"] != "prepare")
                CHECK_MESSAGE(measured.count({kernels["entry"].get<std::string>(), name}), name);
        for (const auto &choice : layer.value("algorithms", nlohmann::json::array())) {
            choices++;
            const auto cost =
                std::find_if(result->layers.begin(), result->layers.end(), [&](const bench::LayerCost &l) {
                    return l.layer == name && l.entry == choice["entry"] &&
                           l.algorithm == choice["algorithm"];
                });
            REQUIRE_MESSAGE(cost != result->layers.end(), name);
            CHECK(cost->predicted_ns == doctest::Approx(choice["predicted_ns"].get<double>()));
            CHECK(cost->measured_ns > 0);
            CHECK(cost->ratio() == doctest::Approx(cost->measured_ns / cost->predicted_ns));
        }
    }
    CHECK(choices >= 3); // a long convolution in each entry at least
    CHECK(bench::to_json(*result, "cpu")["layers"].size() == result->layers.size());
    CHECK(bench::to_text(*result, "cpu").find("predicted") != std::string::npos);
}

TEST_CASE("bench --planner: what is no artifact is refused by its name") {
    const auto result = bench::bench_planner({.path = "README.md", .variant = ""});
    REQUIRE(!result);
    CHECK(result.status().fault() == Fault::input);
    CHECK(result.status().message().rfind("README.md: ", 0) == 0);
}
