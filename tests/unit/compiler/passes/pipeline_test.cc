// The exact rewrites one behind the other on whole models: every published fixture answers as it
// did before them.
#include "compiler/ir/op.h"
#include "compiler/layers/lower.h"
#include "compiler/passes/passes.h"
#include "tests/oracles/oracle_package.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <filesystem>

namespace pipeline_test {

using namespace longwave;
using namespace longwave::ir;

TEST_CASE("passes: no fixture's output changes, no norm with fixed statistics is left, every rewrite has a "
          "certificate") {
    size_t cases = 0, certificates = 0;
    for (const auto &entry : std::filesystem::directory_iterator(oracles::oracle_folder())) {
        const std::string name = entry.path().stem();
        if (entry.path().extension() != ".json" ||
            (!name.starts_with("sgconv_") && !name.starts_with("stream_sgconv")))
            continue;
        if (name == "sgconv_op_causal_16000" || name.starts_with("stream_"))
            continue; // the same layers, at lengths that only cost time
        CAPTURE(name);
        const auto fixture = oracles::read_case(entry.path().string());
        REQUIRE_MESSAGE(fixture, fixture.status().message());
        const auto package = package::parse(fixture->model_json, fixture->weights);
        REQUIRE_MESSAGE(package, package.status().message());
        const auto lowered = compiler::lower(*package);
        REQUIRE_MESSAGE(lowered, lowered.status().message());
        Graph graph = *lowered;
        for (const auto pass : {compiler::fold_constants, compiler::materialise_kernels,
                                compiler::merge_branches, compiler::fold_norms}) {
            auto made = pass(graph);
            REQUIRE_MESSAGE(made, made.status().message());
            graph = *std::move(made);
            const Status status = verify(graph);
            REQUIRE_MESSAGE(status, status.message());
        }
        for (const Node &node : graph.nodes) {
            CHECK(node.op->name != std::string("batch_norm"));
            CHECK(node.op->name != std::string("sgconv_kernel"));
        }
        std::map<std::string, Array> inputs;
        for (const auto &input : fixture->runs.at(0).inputs)
            inputs[input.name] = {input.rows, input.width, {input.data.begin(), input.data.end()}};
        const auto before = evaluate(*lowered, inputs), after = evaluate(graph, inputs);
        REQUIRE(before);
        REQUIRE(after);
        for (size_t i = 0; i < before->size(); ++i) {
            double peak = 0;
            for (const double v : before->at(i).data) peak = std::max(peak, std::abs(v));
            CHECK(largest_difference(before->at(i).data, after->at(i).data) <= 1e-10 * peak);
        }
        ++cases;
        certificates += graph.certificates.size();
    }
    CHECK(cases >= 10); // those of the repository
    CHECK(certificates > 0);
}

} // namespace pipeline_test
