#include "compiler/driver/compile.h"
#include "formats/package/package.h"
#include "tests/bench/planner/bench_planner.h"
#include "tests/kernels/kernel_call.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <set>
#include <unistd.h>

namespace planner_test {

using namespace longwave;

namespace {

// A model for this machine, in a file that goes with this.
struct Artifact {
    std::string path = "/tmp/longwave-planner-XXXXXX";
    nlohmann::json report;

    Artifact(Expected<package::Package> package, std::vector<uint32_t> blocks) {
        REQUIRE_MESSAGE(package, package.status().message());
        compiler::Options options;
        for (const targets::Target &target : targets::all())
            if (!target.by_name && test::host_runs(target)) options.targets = {target.name};
        options.blocks = std::move(blocks);
        options.kgen = test::find_kgen();
        auto compiled = compiler::compile(*std::move(package), options);
        REQUIRE_MESSAGE(compiled, compiled.status().message());
        report = nlohmann::json::parse(compiled->report);
        const int file = mkstemp(path.data());
        REQUIRE(file >= 0);
        REQUIRE(write(file, compiled->artifact.data(), compiled->artifact.size()) ==
                static_cast<ssize_t>(compiled->artifact.size()));
        close(file);
    }
    Artifact(const Artifact &) = delete;
    ~Artifact() { unlink(path.c_str()); }
};

} // namespace

TEST_CASE("bench --planner: every layer with kernels is there in every entry, with positive figures") {
    const Artifact artifact(package::read("examples/kws/model"), {320, 1600});
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

TEST_CASE("bench --planner: a model of token ids is measured in every entry") {
    std::map<std::string, package::Tensor> weights;
    weights["e.weight"] = {{7, 4}, std::vector<float>(28, 1)};
    weights["l.weight"] = {{7, 4}, std::vector<float>(28, 1)};
    const Artifact artifact(package::parse(R"({"format": "longwave-model", "version": 1, "name": "ids",
        "inputs": [{"name": "x", "kind": "tokens", "vocabulary": 7}],
        "layers": [{"type": "embedding", "name": "e", "vocabulary": 7, "width": 4},
                   {"type": "linear", "name": "l", "out_features": 7, "bias": false}],
        "outputs": [{"name": "y", "from": "l"}]})",
                                           std::move(weights)),
                            {1, 8});
    const auto result = bench::bench_planner({.path = artifact.path, .variant = "", .seconds = 0.01});
    REQUIRE_MESSAGE(result, result.status().message());
    std::set<std::string> entries;
    for (const bench::LayerCost &layer : result->layers) entries.insert(layer.entry);
    CHECK(entries == std::set<std::string>{"run", "stream 1", "stream 8"});
}

TEST_CASE("bench --planner: what is no artifact is refused by its name") {
    const auto result = bench::bench_planner({.path = "README.md", .variant = ""});
    REQUIRE(!result);
    CHECK(result.status().fault() == Fault::input);
    CHECK(result.status().message().rfind("README.md: ", 0) == 0);
}

} // namespace planner_test
